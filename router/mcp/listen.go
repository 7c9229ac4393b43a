package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// Filter names what a subscription is told of (MCP 2026-07-28,
// subscriptions/listen).
type Filter struct {
	ToolsListChanged bool `json:"toolsListChanged,omitempty"`
}

// firstWord bounds how long the first reading of the tools waits for the server to
// acknowledge the subscription. A change between the two is then told; where the
// server takes longer, its acknowledgement has the tools read again.
const firstWord = 250 * time.Millisecond

// subscription is one subscriptions/listen request under way.
type subscription struct {
	id      int64
	leave   context.CancelFunc
	first   chan struct{} // closed at the acknowledgement, or the end; nil: nobody waits
	over    sync.Once
	granted atomic.Bool // and what was asked for is told from here on
	refused atomic.Bool // acknowledged, and nothing of what was asked for will come
}

// listens reports whether the server tells of changes to its tools only to those
// who subscribe.
func (c *conn) listens() bool {
	var server struct {
		Capabilities struct {
			Tools struct {
				ListChanged bool `json:"listChanged"`
			} `json:"tools"`
		} `json:"capabilities"`
	}
	return c.modern && json.Unmarshal(c.link.opening().document(true), &server) == nil && server.Capabilities.Tools.ListChanged
}

// subscribe begins to listen on the connection's one goroutine for it, and waits a
// moment for the server to say that it tells from now on.
func (c *conn) subscribe(ctx context.Context) {
	if !c.listens() {
		return
	}
	first := make(chan struct{})
	c.partings.Go(func() { c.listen(first) })
	wait := time.NewTimer(firstWord)
	defer wait.Stop()
	select {
	case <-first:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// listen keeps a subscription open until the connection ends, or the server refuses
// it for good. first is closed once the first one was acknowledged, or is over.
func (c *conn) listen(first chan struct{}) {
	filter := Filter{ToolsListChanged: true}
	for attempt := 0; ; {
		began := time.Now()
		heard, e := c.hear(filter, first)
		first = nil
		if c.over() {
			return
		}
		if !resumable(e) {
			c.log.Debug("the server does not take a subscription", "error", e.Message)
			return
		}
		if heard && time.Since(began) > c.backoff.Cap {
			attempt = 0 // it worked: the end is a new one
		}
		attempt++
		plan := PlanReconnect(c.backoff, c.server.ID, attempt, filter)
		if e != nil {
			plan.Wait = max(plan.Wait, min(e.RetryAfter, longestAsked))
		}
		c.replan(plan)
		if !c.carryOut(plan) {
			return
		}
		filter = plan.Filter
	}
}

// over reports whether the connection has ended.
func (c *conn) over() bool {
	select {
	case <-c.life.Done():
		return true
	case <-c.link.gone():
		return true
	default:
		return false
	}
}

// hear makes one subscriptions/listen request and returns once it is over: nil
// where the server ended it in order.
func (c *conn) hear(filter Filter, first chan struct{}) (heard bool, e *router.CallError) {
	defer func() {
		if r := recover(); r != nil {
			e = recovered(r)
		}
	}()
	ctx, leave := context.WithCancel(c.life)
	defer leave()
	s := &subscription{id: c.ids.Add(1), leave: leave, first: first}
	defer s.tell()
	params, err := json.Marshal(map[string]any{"notifications": filter})
	if err != nil {
		return false, unknown(router.OutputInvalid, "the subscription has no JSON form", err)
	}
	c.heard.Store(s)
	defer c.heard.Store(nil)
	method := string(protocol.MethodSubscriptionsListen)
	_, e = c.post(ctx, s.id, method, c.withMeta(params), c.headers(method, ""))
	if s.refused.Load() {
		return true, notSent(router.CapabilityMismatch, "the server grants nothing of the subscription", nil)
	}
	return s.granted.Load(), e
}

// tell wakes whoever waits for the first word of the server.
func (s *subscription) tell() {
	if s.first != nil {
		s.over.Do(func() { close(s.first) })
	}
}

func (s *subscription) acknowledged() bool { return s.granted.Load() || s.refused.Load() }

// resumable reports whether a subscription that ended so is worth another try.
func resumable(e *router.CallError) bool {
	if e == nil {
		return true
	}
	switch e.Code {
	case router.AuthRequired, router.AuthMismatch, router.VersionUnsupported, router.CapabilityMismatch:
		return false
	}
	return e.RPCCode != protocol.METHOD_NOT_FOUND
}

// carryOut waits and then does what the plan says must be done before the new
// request; the request itself is the next of listen. false: the connection ended.
func (c *conn) carryOut(p ReconnectPlan) bool {
	wait := time.NewTimer(p.Wait)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.life.Done():
		return false
	case <-c.link.gone():
		return false
	}
	if c.over() {
		return false
	}
	if slices.Contains(p.Reread, string(protocol.MethodToolsList)) {
		c.suspect()
	}
	return true
}

// told runs in the link's reader, for a notification that a subscription brings.
// One of another subscription, or of none where the server has several clients, is
// dropped.
func (c *conn) told(n *protocol.JSONRPCNotification) {
	s := c.heard.Load()
	id, tagged := n.Params.Meta[protocol.MetaKeySubscriptionID].(float64)
	mine := s != nil && tagged && int64(id) == s.id
	switch n.Method {
	case protocol.MethodNotificationSubscriptionsAcknowledged:
		if mine && !s.acknowledged() {
			c.acknowledged(s, n)
		}
	case protocol.MethodNotificationToolsListChanged:
		// What is said on a child's own pipe is said to us: libraries leave the id out.
		if !c.modern || mine && s.granted.Load() || !tagged && !c.http {
			c.suspect()
		}
	}
}

// suspect has the tools read again: the server told of a change, or would have.
func (c *conn) suspect() {
	c.announced.Store(true)
	c.stale.Store(true)
}

func (c *conn) acknowledged(s *subscription, n *protocol.JSONRPCNotification) {
	granted, _ := n.Params.AdditionalFields["notifications"].(map[string]any)
	if yes, _ := granted["toolsListChanged"].(bool); !yes {
		s.refused.Store(true)
		s.leave()
	} else {
		// A change since the last reading went untold; the acknowledgement of the
		// first subscription comes before there was one.
		c.suspect()
		s.granted.Store(true)
	}
	s.tell()
}
