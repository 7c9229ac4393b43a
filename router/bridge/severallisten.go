package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// hearing is a subscriptions/listen of a client of the later era, at all servers. The
// bridge acknowledges it for them, since those to come are meant, too.
type hearing struct {
	several *several
	ctx     context.Context
	asked   *asked
	filter  protocol.SubscriptionFilter
}

// againAfter is how long a subscription that a server could not take waits for another
// try there.
const againAfter = 10 * time.Second

// listen serves subscriptions/listen: it ends with the client's wish.
func (s *several) listen(ctx context.Context, a *asked) func() mcp.Reply {
	h := &hearing{several: s, ctx: ctx, asked: a}
	wanted := member(a.params, "notifications")
	if json.Unmarshal(object(wanted), &h.filter) != nil {
		return replied(mcp.Reply{Error: &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "the subscription's filter cannot be read"}})
	}
	h.tell(protocol.MethodNotificationSubscriptionsAcknowledged, map[string]json.RawMessage{"notifications": object(wanted)})
	s.mu.Lock()
	s.listens[h] = struct{}{}
	for _, p := range s.parts {
		h.hear(p)
	}
	s.mu.Unlock()
	return func() mcp.Reply {
		select {
		case <-ctx.Done():
		case <-s.life.Done():
		}
		s.mu.Lock()
		delete(s.listens, h)
		s.mu.Unlock()
		return mcp.Reply{Result: marshal(map[string]any{
			"resultType": "complete", "_meta": map[string]json.RawMessage{protocol.MetaKeySubscriptionID: h.asked.id},
		})}
	}
}

// hear keeps the subscription at one server while both last. Resources are asked for
// where they are listed.
func (h *hearing) hear(p *peer) {
	p.run(func() {
		for {
			h.once(p)
			pause := time.NewTimer(againAfter)
			select {
			case <-pause.C:
			case <-h.ctx.Done():
				pause.Stop()
				return
			case <-p.life.Done():
				pause.Stop()
				return
			}
		}
	})
}

// once subscribes at one server to what is its, until either ends that.
func (h *hearing) once(p *peer) {
	f := h.filter
	f.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(f.ResourceSubscriptions), func(uri string) bool {
		return h.several.having(uri) != p
	})
	if f.IsEmpty() {
		return
	}
	a := *h.asked
	a.params = setMember(a.params, "notifications", marshal(f))
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	if reply := p.listen(ctx, &a)(); reply.Error != nil {
		p.log.Debug("the server does not take a subscription", "error", clean(reply.Error.Message))
	}
}

// stale tells the client of a change in all lists that it listens for.
func (h *hearing) stale() {
	for _, k := range kinds {
		h.staleOf(k)
	}
}

func (h *hearing) staleOf(k *kind) {
	if k == toolKind && h.filter.ToolsListChanged || k == promptKind && h.filter.PromptsListChanged ||
		(k == resourceKind || k == templateKind) && h.filter.ResourcesListChanged {
		h.tell(k.changed, map[string]json.RawMessage{})
	}
}

func (h *hearing) tell(method string, params map[string]json.RawMessage) {
	params["_meta"] = marshal(map[string]json.RawMessage{protocol.MetaKeySubscriptionID: h.asked.id})
	h.several.bridge.tell(nil, mcp.Notification{Method: method, Params: marshal(params)})
}
