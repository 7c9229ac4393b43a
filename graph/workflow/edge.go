package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"junction/graph"
	"junction/state/document"
)

// route is a conditional edge.
type route struct {
	from  string
	to    []string // every node it may lead to
	cases []branch
	els   []string
	names *template // goto: the names themselves
}

type branch struct {
	when *template
	to   []string
}

// edge reads one entry of edges: a chain, or a mapping.
func (p *parser) edge(n *document.Node) {
	if n.Kind == document.Text {
		p.chain(n)
		return
	}
	if n.Kind != document.Map {
		n.Fault(`such as "a -> b" or {from: a, when: "${…}", to: b, else: c}`, "an edge is expected here, not %s", n.Kind)
		p.badEdges = true
		return
	}
	m := n.Mapping("from", "to", "when", "else", "choose", "goto")
	from := p.stops(m.Require("from"), true)
	when, to, choose, names := m.Get("when"), m.Get("to"), m.Get("choose"), m.Get("goto")
	r := &route{}
	switch {
	case names != nil && (when != nil || choose != nil || m.Has("else")):
		names.Fault("", "goto names the successors itself: it takes no when, choose or else")
	case names != nil:
		if r.names = p.template(names, scope{}); r.names != nil && r.names.typ != "any" && r.names.typ != "string" && r.names.typ != "array" {
			names.Fault("", "goto gives the name of a node or a list of names, not a value of type %s", r.names.typ)
		}
		r.to = p.stops(m.Require("to"), false)
	case choose != nil:
		if to != nil || when != nil {
			choose.Fault("put them in the list", "choose takes its when and to from its own list")
		}
		for _, c := range choose.List() {
			cm := c.Mapping("when", "to")
			r.cases = append(r.cases, branch{p.template(cm.Require("when"), scope{}, "boolean"), p.stops(cm.Require("to"), false)})
		}
	case when != nil:
		r.cases = []branch{{p.template(when, scope{}, "boolean"), p.stops(m.Require("to"), false)}}
	default:
		if e := m.Get("else"); e != nil {
			e.Fault("add when: …", "else needs a condition")
		}
		p.connect(n, from, p.stops(m.Require("to"), false))
		return
	}
	r.els = p.stops(m.Get("else"), false)
	p.addRoute(n, from, r)
}

func (p *parser) addRoute(n *document.Node, from []string, r *route) {
	for _, c := range r.cases {
		r.to = append(r.to, c.to...)
	}
	r.to = append(r.to, r.els...)
	slices.Sort(r.to)
	r.to = slices.Compact(r.to)
	for _, f := range from {
		one := *r
		one.from = f
		p.w.routes = append(p.w.routes, &one)
		p.places[fmt.Sprintf("route %s → %s", f, strings.Join(one.to, " | "))] = n
	}
}

// stops reads one name or a list of names.
func (p *parser) stops(n *document.Node, from bool) []string {
	if n == nil {
		return nil
	}
	items := []*document.Node{n}
	if n.Kind == document.List {
		items = n.List()
		if len(items) == 0 {
			n.Fault("", "at least one node is expected here")
		}
	}
	var names []string
	for _, item := range items {
		if item.Kind != document.Text {
			item.Text() // its fault
			p.badEdges = true
			continue
		}
		if name := item.Text(); p.stop(item, name, 0, from, !from) {
			names = append(names, name)
		}
	}
	return names
}

// stop checks a name in an edge, which stands at an offset of its text.
func (p *parser) stop(n *document.Node, name string, offset int, from, to bool) bool {
	switch {
	case name == graph.Start && !to, name == graph.End && !from, p.hasNode(name):
		return true
	case name == graph.Start:
		n.FaultAt(offset, "", "nothing can lead to the start")
	case name == graph.End:
		n.FaultAt(offset, "", "nothing leads on from the end")
	case name == "":
		n.FaultAt(offset, "", "the name of a node is missing")
	default:
		n.FaultAt(offset, document.Hint(name, append([]string{graph.Start, graph.End}, p.nodeNames...)), "there is no node %q", name)
	}
	p.badEdges = true
	return false
}

// chain reads "a -> [b, c] -> d": from each part to the next.
func (p *parser) chain(n *document.Node) {
	text, offset := n.Text(), 0
	parts := strings.Split(text, "->")
	if len(parts) < 2 {
		n.Fault("such as: "+strings.TrimSpace(text)+" -> end", "an edge leads from a node to another, with -> between them")
		p.badEdges = true
		return
	}
	var last []string
	for i, part := range parts {
		names := p.part(n, part, offset, i < len(parts)-1, i > 0)
		if i > 0 && len(last) > 0 {
			p.connect(n, last, names)
		}
		last = names
		offset += len(part) + len("->")
	}
}

// part reads one part of a chain: a name, or several in brackets.
func (p *parser) part(n *document.Node, part string, offset int, from, to bool) []string {
	inner := strings.TrimSpace(part)
	at := offset + strings.Index(part, inner)
	if strings.HasPrefix(inner, "[") != strings.HasSuffix(inner, "]") {
		n.FaultAt(at, "write several nodes as [a, b]", "a bracket is missing")
		p.badEdges = true
		return nil
	}
	several := strings.HasPrefix(inner, "[")
	if several {
		inner, at = inner[1:len(inner)-1], at+1
	}
	var names []string
	for _, piece := range strings.Split(inner, ",") {
		name := strings.TrimSpace(piece)
		if !several && piece != inner {
			n.FaultAt(at, "write several nodes as [a, b]", "a comma stands outside of brackets")
			p.badEdges = true
			return nil
		}
		if p.stop(n, name, at+strings.Index(piece, name), from, to) {
			names = append(names, name)
		}
		at += len(piece) + 1
	}
	return names
}

// connect adds an edge, with several from a join, to each of to.
func (p *parser) connect(n *document.Node, from, to []string) {
	if len(from) == 0 {
		return
	}
	for _, t := range to {
		p.w.edges = append(p.w.edges, graph.Edge{From: from, To: t})
		p.places[fmt.Sprintf("edge %s → %s", strings.Join(from, ", "), t)] = n
	}
}

// pick evaluates the conditions in order; the first that holds decides.
func (r *route) pick(ctx context.Context, v graph.View) ([]string, error) {
	e := env{view: v}
	if r.names != nil {
		return r.pickNames(ctx, e)
	}
	for _, c := range r.cases {
		yes, err := c.when.truth(ctx, e)
		if err != nil {
			return nil, err
		}
		if yes {
			return c.to, nil
		}
	}
	return r.els, nil
}

func (r *route) pickNames(ctx context.Context, e env) ([]string, error) {
	v, err := r.names.eval(ctx, e)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var names []string
	for _, item := range list {
		name, ok := item.(string)
		if !ok || !slices.Contains(r.to, name) {
			return nil, r.names.failed(fmt.Errorf("goto gave %s; it may name %s", brief(item), strings.Join(r.to, ", ")))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func brief(v any) string {
	if s, ok := v.(string); ok && len(s) <= 64 {
		return fmt.Sprintf("%q", s)
	}
	return kind(v)
}
