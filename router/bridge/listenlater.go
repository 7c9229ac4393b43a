package bridge

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// firstWord bounds how long a new session waits for the server to acknowledge the
// subscriptions that are made again on it. Later it is in force all the same.
const firstWord = 2 * time.Second

// listenAll makes all subscriptions on a new session of the later era, and waits for
// the server to say that they are in force. again: there was another session before.
func (h *behind) listenAll(ctx context.Context, on Session, again bool) {
	h.mu.Lock()
	if !h.bridge.down.later() {
		h.changesForEarlier()
	}
	subs := append([]*subscription(nil), h.subs...)
	h.mu.Unlock()
	wait := time.NewTimer(firstWord)
	defer wait.Stop()
	for _, s := range subs {
		heard := h.attach(on, s, again)
		select {
		case <-heard:
		case <-on.Gone():
			return
		case <-wait.C:
			wait.Reset(0)
		case <-ctx.Done():
			return
		}
	}
}

// changesForEarlier keeps the subscription that a client of the earlier era needs to
// be told of changes in the server's lists, as far as the server tells of them.
func (h *behind) changesForEarlier() {
	d := h.known
	f := protocol.SubscriptionFilter{
		ToolsListChanged:     d.has("tools", "listChanged"),
		PromptsListChanged:   d.has("prompts", "listChanged"),
		ResourcesListChanged: d.has("resources", "listChanged"),
	}
	for i, s := range h.subs {
		if s == h.lists {
			h.subs = append(h.subs[:i:i], h.subs[i+1:]...)
			break
		}
	}
	if h.lists = nil; !f.IsEmpty() {
		h.lists = newSubscription(marshal(f), nil, h.untagged)
		h.subs = append(h.subs, h.lists)
	}
}

// untagged tells an earlier client, which knows no subscriptions.
func (h *behind) untagged(n mcp.Notification) {
	if meta := member(n.Params, "_meta"); member(meta, protocol.MetaKeySubscriptionID) != nil {
		n.Params = setMember(n.Params, "_meta", dropMembers(meta, protocol.MetaKeySubscriptionID))
	}
	h.up.tell(h, n)
}

// attach makes a subscription on a session of the later era, unless it is there; heard
// is closed once it is in force, or never will be.
func (h *behind) attach(on Session, s *subscription, reread bool) (heard <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.on == on {
		return s.heard
	}
	if s.leave != nil {
		s.leave()
	}
	ctx, leave := context.WithCancel(h.life)
	s.on, s.leave, s.heard, s.reread = on, leave, make(chan struct{}), reread
	l := &listening{behind: h, on: on, sub: s, heard: s.heard}
	if !h.runLocked(func() { defer leave(); l.keep(ctx) }) {
		leave()
		l.settle()
	}
	return s.heard
}

// listening is one subscription on one session: a subscriptions/listen request under
// way, and another when its stream breaks.
type listening struct {
	behind *behind
	on     Session
	sub    *subscription
	heard  chan struct{}
	once   sync.Once
	grants bool // of the request under way: something was granted
}

func (l *listening) settle() { l.once.Do(func() { close(l.heard) }) }

// keep listens until the session or the subscription ends, or the server ends it for
// good: with an error, or because it grants nothing. An orderly end of what it has
// granted is a stream that broke.
func (l *listening) keep(ctx context.Context) {
	defer l.settle()
	b := l.behind.bridge.options.Backoff
	for attempt := 1; ; attempt++ {
		l.grants = false
		reply, fail := l.on.Do(ctx, &mcp.Request{
			Method: string(protocol.MethodSubscriptionsListen), Params: l.sub.params, Notify: l.told,
		})
		select {
		case <-ctx.Done():
			return
		case <-l.on.Gone():
			return
		default:
		}
		granted := l.granted()
		if fail == nil && (reply.Error != nil || !granted) {
			if reply.Error != nil {
				l.behind.log.Debug("the server does not take a subscription", "error", clean(reply.Error.Message))
			}
			select {
			case l.sub.ended <- reply:
			default: // that of an earlier session still waits for somebody
			}
			return
		}
		if granted {
			attempt = 1
		}
		wait := time.NewTimer(b.Delay(l.behind.server.Name, attempt))
		select {
		case <-wait.C:
		case <-ctx.Done():
		case <-l.on.Gone():
		}
		wait.Stop()
	}
}

func (l *listening) granted() bool {
	l.behind.mu.Lock()
	defer l.behind.mu.Unlock()
	return l.grants
}

// told runs in the session's reader, for what the server sends under the subscription.
func (l *listening) told(n mcp.Notification) {
	l.behind.mu.Lock()
	over := l.sub.over
	l.behind.mu.Unlock()
	switch {
	case over:
		return
	case n.Method != protocol.MethodNotificationSubscriptionsAcknowledged:
		l.sub.tell(n)
		return
	}
	granted := false
	for _, v := range members(object(member(n.Params, "notifications"))) {
		granted = granted || string(v) != "false" && string(v) != "[]" && string(v) != "null"
	}
	s := l.sub
	l.behind.mu.Lock()
	l.grants = granted
	first, reread := !s.acked, s.acked || s.reread
	s.acked, s.reread = true, false
	l.behind.mu.Unlock()
	if first && s.acknowledge != nil {
		s.acknowledge(n.Params)
	}
	if reread {
		s.stale()
	}
	l.settle()
}

// object is raw where it is a JSON object, else an empty one.
func object(raw json.RawMessage) json.RawMessage {
	if isObject(raw) {
		return raw
	}
	return json.RawMessage(`{}`)
}
