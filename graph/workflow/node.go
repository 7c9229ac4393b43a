package workflow

import (
	"context"
	"fmt"
	"time"

	"junction/graph"
	"junction/state/document"
)

// node is one node of the file.
type node struct {
	name       string
	at         *document.Node // its key
	each, when *template
	hop        *hop // of a call or a route
	ask        *ask
	writes     writes
	onError    *handler
	retry      *graph.Retry
	timeout    time.Duration
	pause      string // "", "before" or "after"
}

func (p *parser) node(e document.Entry) *node {
	m := e.Node.Mapping("call", "route", "ask", "each", "when", "write", "replace", "on_error", "retry", "timeout", "pause", "description")
	if m == nil {
		return nil
	}
	n := &node{name: e.Key, at: e.At}
	m.Get("description").Text()
	s := scope{}
	n.each = p.template(m.Get("each"), s, "array")
	if m.Has("each") {
		s = s.with("item", "any").with("index", "number")
	}
	n.when = p.template(m.Get("when"), s, "boolean")
	n.timeout = m.Get("timeout").Duration()
	n.pause = m.Get("pause").OneOf("before", "after")
	n.retry = retry(m.Get("retry"))
	n.onError = p.handler(m.Get("on_error"), s)
	p.work(n, m, s)
	return n
}

// work decodes what the node does, of which there is one kind, and its writes.
func (p *parser) work(n *node, m *document.Mapping, s scope) {
	var given []string
	for _, k := range []string{"call", "route", "ask"} {
		if m.Has(k) {
			given = append(given, k)
		}
	}
	if len(given) > 1 {
		m.Get(given[1]).Fault("make a node of its own of each", "a node does one thing: it has %s and %s", given[0], given[1])
	}
	writing := m.Has("write") || m.Has("replace")
	switch {
	case m.Has("call"):
		n.hop = p.hop(m.Get("call"), s, false)
		s = s.with("result", "any")
	case m.Has("route"):
		n.hop = p.hop(m.Get("route"), s, true)
		s = s.with("route", "object")
	case m.Has("ask"):
		n.ask = p.ask(m.Get("ask"), s)
		s = s.with("answer", n.ask.answerType())
	case !writing:
		m.Node().Fault("add call, route, ask or write", "node %q does nothing", n.name)
	}
	n.writes = append(p.writes(m.Get("write"), s, false), p.writes(m.Get("replace"), s, true)...)
	if m.Has("route") && !writing {
		n.writes = p.routed(m.Get("route"), s)
	}
	if n.ask != nil {
		n.ask.hold(n.writes)
	}
}

// routed are a route's own writes.
func (p *parser) routed(at *document.Node, s scope) writes {
	var ws writes
	for i, field := range []string{"server", "endpoint", "session"} {
		t := p.constructed(at, "${route."+field+"}", s)
		ws = append(ws, write{channel: p.named(routed[i]), from: t})
	}
	return ws
}

func retry(n *document.Node) *graph.Retry {
	if n == nil {
		return nil
	}
	m := n.Mapping("attempts", "delay", "cap")
	return &graph.Retry{
		Attempts: int(m.Get("attempts").Int(1, 100)),
		Delay:    m.Get("delay").Duration(),
		Cap:      m.Get("cap").Duration(),
	}
}

// run does the node's work for one task.
func (n *node) run(tools Tools) graph.Func {
	return func(ctx context.Context, in graph.Input) (graph.Update, error) {
		e := n.env(in)
		if n.when != nil {
			yes, err := n.when.truth(ctx, e)
			if err != nil || !yes {
				return graph.Update{}, err
			}
		}
		switch {
		case n.hop != nil:
			v, err := n.hop.do(ctx, tools, e)
			if err != nil {
				return graph.Update{}, err
			}
			name := "result"
			if n.hop.routeOnly {
				name = "route"
			}
			e = e.with(name, v)
		case n.ask != nil:
			v, err := n.ask.do(ctx, e)
			if err != nil {
				return graph.Update{}, err
			}
			e = e.with("answer", v)
		}
		return n.writes.update(ctx, e)
	}
}

func (n *node) env(in graph.Input) env {
	e := env{view: in.State}
	if n.each != nil {
		e = e.with("item", in.Item).with("index", int64(in.Task.Index))
	}
	return e
}

// items evaluates each. The graph stores what it gives: it is evaluated once.
func (n *node) items(v graph.View) ([]any, error) {
	list, err := n.each.eval(context.Background(), env{view: v}) // bounded in steps
	if err != nil {
		return nil, err
	}
	items, ok := list.([]any)
	if !ok {
		return nil, n.each.failed(fmt.Errorf("each needs a list, not %s", kind(list)))
	}
	return items, nil
}
