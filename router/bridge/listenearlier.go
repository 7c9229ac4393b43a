package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
)

// severities are the levels of messages, the most talkative first.
var severities = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// mostResources is how many subscriptions of a client of the earlier era are kept for
// the sessions to come.
const mostResources = 4096

// remember keeps what each new session has to be given again, as of this request.
func (h *behind) remember(a *asked) {
	uri := textIn(a.params, "uri")
	switch {
	case a.modern:
		h.loosen(a.level)
	case a.method == string(protocol.MethodSetLogLevel):
		h.mu.Lock()
		h.level = textIn(a.params, "level")
		h.mu.Unlock()
	case a.method == string(protocol.MethodResourcesSubscribe):
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.uris[uri] == nil && len(h.uris) < mostResources {
			s := newSubscription(marshal(map[string][]string{"resourceSubscriptions": {uri}}), nil, h.untagged)
			h.uris[uri] = s
			h.subs = append(h.subs, s)
		}
	case a.method == string(protocol.MethodResourcesUnsubscribe):
		h.forget(uri)
	}
}

// forget drops the subscription to a resource of a client of the earlier era.
func (h *behind) forget(uri string) {
	h.mu.Lock()
	s := h.uris[uri]
	delete(h.uris, uri)
	h.mu.Unlock()
	if s != nil {
		h.drop(s)
	}
}

// patienceOfOne is how long a new session waits for the answer to one thing that is asked
// for again: a server that lives and never gives it must not be away for that.
const patienceOfOne = 10 * time.Second

// subscribeAll gives a new session of the earlier era the level of its messages and the
// subscriptions to resources.
func (h *behind) subscribeAll(ctx context.Context, on Session) *router.CallError {
	h.mu.Lock()
	level, d := h.level, h.known
	var uris []string
	for _, s := range h.subs {
		uris = append(uris, s.filter.ResourceSubscriptions...)
	}
	h.mu.Unlock()
	var requests []*mcp.Request
	if level != "" && d.has("logging", "") {
		requests = append(requests, &mcp.Request{
			Method: string(protocol.MethodSetLogLevel), Params: marshal(map[string]string{"level": level}),
		})
	}
	slices.Sort(uris)
	for _, uri := range slices.Compact(uris) {
		requests = append(requests, aboutResource(protocol.MethodResourcesSubscribe, uri).Make(on))
	}
	for _, r := range requests {
		within, stop := context.WithTimeout(ctx, patienceOfOne)
		reply, fail := on.Do(within, r)
		late := within.Err() != nil && ctx.Err() == nil
		stop()
		if fail != nil && late {
			if fail = on.Ping(ctx); fail == nil { // it lives, and leaves this one unanswered
				h.log.Warn("the server does not answer what it was asked for before", "method", r.Method)
				continue
			}
		}
		if fail != nil {
			return fail
		}
		if reply.Error != nil {
			h.log.Warn("the server does not take again what it was asked for before", "method", r.Method, "error", clean(reply.Error.Message))
		}
	}
	return nil
}

// stale tells the client that everything of the server may have changed.
func (h *behind) stale(d *document) {
	if !h.bridge.down.later() {
		lists(d.has("tools", ""), d.has("prompts", ""), d.has("resources", ""), h.untagged)
	}
	if d.modern {
		return // each subscription says so itself once it is in force
	}
	h.mu.Lock()
	var subs []*subscription
	for _, s := range h.subs {
		switch {
		case s == h.lists:
		case s.acknowledge != nil && !s.acked:
			s.reread = true
		default:
			subs = append(subs, s)
		}
	}
	h.mu.Unlock()
	for _, s := range subs {
		s.stale()
	}
}

// lapsed runs in the session's reader, when what the server says by itself comes again
// after it could not.
func (h *behind) lapsed() {
	if d := h.latest(); d != nil {
		h.stale(d)
	}
}

// stead answers a request of one era that the other has nothing for; reply is what the
// server said to the one that was made in its place.
func (h *behind) stead(ctx context.Context, a *asked, reply mcp.Reply) mcp.Reply {
	done := mcp.Reply{Result: json.RawMessage(`{}`)}
	switch {
	case reply.Error != nil:
		return reply
	case a.modern:
	case a.method == string(protocol.MethodSetLogLevel), a.method == string(protocol.MethodResourcesUnsubscribe):
		return done
	case a.method == string(protocol.MethodResourcesSubscribe):
		h.mu.Lock()
		s, on := h.uris[textIn(a.params, "uri")], h.on
		h.mu.Unlock()
		switch {
		case s == nil:
			return refused(router.CapabilityMismatch, "the subscription was taken back meanwhile, or there are too many")
		case on == nil || !on.Modern():
			return done // the next session has it
		}
		select {
		case <-h.attach(on, s, false):
		case <-on.Gone():
			return done
		case <-ctx.Done():
			return mcp.Reply{}
		}
		select {
		case reply := <-s.ended:
			h.forget(textIn(a.params, "uri"))
			if reply.Error == nil {
				reply.Error = &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "the server does not tell of changes to this resource"}
			}
			return mcp.Reply{Error: reply.Error}
		default:
			return done
		}
	}
	return absentMethod(a)
}

// absentMethod refuses what the era of the request does not have.
func absentMethod(a *asked) mcp.Reply {
	return mcp.Reply{Error: &mcp.RPCError{
		Code: protocol.METHOD_NOT_FOUND, Message: "there is no " + clean(a.method) + " in the protocol version of this request",
	}}
}

// heard runs in the session's reader, for what a server sends by itself and under no
// subscription.
func (h *behind) heard(n mcp.Notification) {
	on := h.session()
	earlier := on != nil && !on.Modern()
	switch {
	case n.Method == protocol.MethodNotificationSubscriptionsAcknowledged,
		member(member(n.Params, "_meta"), protocol.MetaKeySubscriptionID) != nil:
		return // of a subscription that is over
	case !h.bridge.down.later():
	case changes(n.Method): // libraries leave the id out on a child's own pipe
		h.mu.Lock()
		subs := slices.DeleteFunc(slices.Clone(h.subs), func(s *subscription) bool { return !s.acked || !s.covers(n) })
		h.mu.Unlock()
		for _, s := range subs {
			s.tell(n)
		}
		return
	case earlier && n.Method == string(protocol.MethodNotificationMessage) && !h.wanted(textIn(n.Params, "level")),
		earlier && n.Method == protocol.MethodNotificationTasksStatus:
		return
	}
	h.up.tell(h, n)
}

// wanted reports whether a request is under way whose client wants messages of the
// level.
func (h *behind) wanted(level string) bool {
	at := slices.Index(severities, level)
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.open {
		if from := slices.Index(severities, p.asked.level); from >= 0 && at >= from {
			return true
		}
	}
	return false
}

// loosen has a server of the earlier era send messages down to the level that a
// request of the later one wants.
func (h *behind) loosen(level string) {
	at := slices.Index(severities, level)
	h.mu.Lock()
	now := slices.Index(severities, h.level)
	less := at >= 0 && (now < 0 || at < now)
	if less {
		h.level = level
	}
	send := less && h.known != nil && !h.known.modern && h.known.has("logging", "")
	h.mu.Unlock()
	if !send {
		return // a new session is given it
	}
	params := marshal(map[string]string{"level": level})
	wait := h.line.Begin(h.life, &Request{Method: string(protocol.MethodSetLogLevel), Again: true, Make: func(s Session) *mcp.Request {
		if s.Modern() {
			return &mcp.Request{Method: string(protocol.MethodServerDiscover)}
		}
		return &mcp.Request{Method: string(protocol.MethodSetLogLevel), Params: params}
	}})
	h.see(func() {
		if reply, fail := wait(); fail != nil || reply.Error != nil {
			h.log.Debug("the server was not told which messages are wanted")
		}
	})
}

// chosenLevel is the level of messages that a client of the earlier era has set.
func (h *behind) chosenLevel() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.level
}
