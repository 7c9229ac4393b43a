package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
)

// subscription is what the client wants to be told of by one server. It outlives the
// sessions: on each new one it is made again, and since nobody knows what went untold
// meanwhile, the client is then told of a change in everything it covers (R34).
//
// A client of the later era makes them itself, with subscriptions/listen. For an earlier
// one the bridge has one for changes in the lists, and one for each resource.
type subscription struct {
	params json.RawMessage // of subscriptions/listen
	filter protocol.SubscriptionFilter
	tell   func(mcp.Notification) // the client; without a subscription's id
	// acknowledge tells the client what the server grants, once; nil: nobody waits.
	acknowledge func(params json.RawMessage)
	ended       chan mcp.Reply // the server's own end of it; has room for one

	// under the behind's lock
	on     Session // that it was last made on
	leave  context.CancelFunc
	heard  chan struct{} // closed once it is in force there, or never will be
	acked  bool
	over   bool
	reread bool // the next acknowledgement is followed by word of a change
}

// newSubscription returns one for a filter as the client wrote it, or as the bridge
// did; params are those of the client's request where there are any.
func newSubscription(filter, params json.RawMessage, tell func(mcp.Notification)) *subscription {
	s := &subscription{params: params, tell: tell, ended: make(chan mcp.Reply, 1)}
	if params == nil {
		s.params = marshal(map[string]json.RawMessage{"notifications": filter})
	}
	_ = json.Unmarshal(filter, &s.filter) // what is no filter covers nothing; a server of the later era says so itself
	return s
}

// add keeps a subscription for the sessions to come.
func (h *behind) add(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = append(h.subs, s)
}

// drop ends a subscription.
func (h *behind) drop(s *subscription) {
	h.mu.Lock()
	h.subs = slices.DeleteFunc(h.subs, func(o *subscription) bool { return o == s })
	s.over = true
	leave, on := s.leave, h.on
	var unused []string
	for _, uri := range s.filter.ResourceSubscriptions {
		if !slices.ContainsFunc(h.subs, func(o *subscription) bool { return slices.Contains(o.filter.ResourceSubscriptions, uri) }) {
			unused = append(unused, uri)
		}
	}
	h.mu.Unlock()
	if leave != nil {
		leave()
	}
	if on == nil || on.Modern() || !h.bridge.down.later() {
		return // an earlier client says so itself
	}
	for _, uri := range unused {
		wait := h.line.Begin(h.life, aboutResource(protocol.MethodResourcesUnsubscribe, uri))
		h.see(func() {
			if reply, fail := wait(); fail != nil || reply.Error != nil {
				h.log.Debug("a subscription was not taken back at the server", "uri", clean(uri))
			}
		})
	}
}

// aboutResource is a request of the earlier era about one resource.
func aboutResource(method protocol.MCPMethod, uri string) *Request {
	params := marshal(map[string]string{"uri": uri})
	return &Request{Method: string(method), Again: true, Make: func(s Session) *mcp.Request {
		if s.Modern() { // where it is not needed: subscriptions are made otherwise
			return &mcp.Request{Method: string(protocol.MethodServerDiscover)}
		}
		return &mcp.Request{Method: string(method), Params: params}
	}}
}

// listen serves subscriptions/listen of a client of the later era: an answer comes when
// the server ends the subscription, or cannot be reached to begin it.
func (h *behind) listen(ctx context.Context, a *asked) func() mcp.Reply {
	tag := func(n mcp.Notification) {
		meta := setMember(member(n.Params, "_meta"), protocol.MetaKeySubscriptionID, a.id)
		n.Params = setMember(n.Params, "_meta", meta)
		h.up.tell(h, n)
	}
	s := newSubscription(member(a.params, "notifications"), a.params, tag)
	s.acknowledge = func(params json.RawMessage) {
		tag(mcp.Notification{Method: protocol.MethodNotificationSubscriptionsAcknowledged, Params: params})
	}
	h.add(s)
	return func() mcp.Reply {
		defer h.drop(s)
		on, fail := h.line.Ready(ctx)
		switch {
		case fail != nil:
		case on.Modern():
			h.attach(on, s, false)
		default:
			fail = h.serve(ctx, s)
		}
		if fail != nil {
			return h.failure(&passage{asked: a, effect: "safe"}, fail)
		}
		select {
		case reply := <-s.ended:
			if reply.Error != nil {
				return reply
			}
			meta := setMember(member(reply.Result, "_meta"), protocol.MetaKeySubscriptionID, a.id)
			return mcp.Reply{Result: h.adorn(a.method, setMember(reply.Result, "_meta", meta))}
		case <-h.bridge.front.Gone():
			meta := setMember(nil, protocol.MetaKeySubscriptionID, a.id)
			return mcp.Reply{Result: h.adorn(a.method, setMember(nil, "_meta", meta))}
		case <-ctx.Done():
			return mcp.Reply{}
		}
	}
}

// serve puts a subscription into force at a server of the earlier era, which tells
// everybody of changes in its lists, and of resources who subscribed to them.
func (h *behind) serve(ctx context.Context, s *subscription) *router.CallError {
	d := h.latest()
	f := s.filter
	granted := protocol.SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && d.has("tools", "listChanged"),
		PromptsListChanged:   f.PromptsListChanged && d.has("prompts", "listChanged"),
		ResourcesListChanged: f.ResourcesListChanged && d.has("resources", "listChanged"),
	}
	if d.has("resources", "subscribe") {
		for _, uri := range f.ResourceSubscriptions {
			reply, fail := h.line.Begin(ctx, aboutResource(protocol.MethodResourcesSubscribe, uri))()
			switch {
			case fail != nil:
				return fail
			case reply.Error == nil:
				granted.ResourceSubscriptions = append(granted.ResourceSubscriptions, uri)
			}
		}
	}
	h.mu.Lock()
	first, reread := !s.acked, s.reread
	s.acked, s.reread = true, false
	h.mu.Unlock()
	if first {
		s.acknowledge(marshal(map[string]any{"notifications": granted}))
	}
	if reread {
		s.stale()
	}
	if granted.IsEmpty() {
		s.ended <- mcp.Reply{}
	}
	return nil
}

// covers reports whether a notification is one that the subscription is for. A server
// may tell of a part of the resource that was named.
func (s *subscription) covers(n mcp.Notification) bool {
	switch n.Method {
	case protocol.MethodNotificationToolsListChanged:
		return s.filter.ToolsListChanged
	case protocol.MethodNotificationPromptsListChanged:
		return s.filter.PromptsListChanged
	case protocol.MethodNotificationResourcesListChanged:
		return s.filter.ResourcesListChanged
	}
	uri := textIn(n.Params, "uri")
	return slices.ContainsFunc(s.filter.ResourceSubscriptions, func(named string) bool {
		return uri == named || strings.HasPrefix(uri, strings.TrimSuffix(named, "/")+"/")
	})
}

// changes reports whether a notification is one that is told to who subscribed.
func changes(method string) bool {
	switch method {
	case protocol.MethodNotificationToolsListChanged, protocol.MethodNotificationPromptsListChanged,
		protocol.MethodNotificationResourcesListChanged, protocol.MethodNotificationResourceUpdated:
		return true
	}
	return false
}

// stale tells the client of a change in everything that the subscription covers.
func (s *subscription) stale() {
	f := s.filter
	lists(f.ToolsListChanged, f.PromptsListChanged, f.ResourcesListChanged, s.tell)
	for _, uri := range f.ResourceSubscriptions {
		s.tell(mcp.Notification{Method: protocol.MethodNotificationResourceUpdated, Params: marshal(map[string]string{"uri": uri})})
	}
}

func lists(tools, prompts, resources bool, tell func(mcp.Notification)) {
	for _, l := range []struct {
		changed bool
		method  string
	}{
		{tools, protocol.MethodNotificationToolsListChanged},
		{prompts, protocol.MethodNotificationPromptsListChanged},
		{resources, protocol.MethodNotificationResourcesListChanged},
	} {
		if l.changed {
			tell(mcp.Notification{Method: l.method})
		}
	}
}
