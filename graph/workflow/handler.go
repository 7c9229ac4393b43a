package workflow

import (
	"context"

	"junction/graph"
	"junction/state"
	"junction/state/document"
)

// handler is what a node does when it has failed for good.
type handler struct {
	writes writes
	to     string // node that runs instead of the successors; "": the successors
}

func (p *parser) handler(n *document.Node, s scope) *handler {
	if n == nil {
		return nil
	}
	if n.Kind == document.Text {
		if n.Text() == "continue" {
			return &handler{}
		}
		return &handler{to: p.successor(n, "continue")}
	}
	m := n.Mapping("write", "replace", "goto")
	if m == nil {
		return nil
	}
	s = s.with("error", "object")
	h := &handler{writes: append(p.writes(m.Get("write"), s, false), p.writes(m.Get("replace"), s, true)...)}
	if to := m.Get("goto"); to != nil {
		h.to = p.successor(to)
	}
	return h
}

// successor reads the name of a node, or end; also are other words that would
// have been right.
func (p *parser) successor(n *document.Node, also ...string) string {
	name := n.Text()
	if name == "" || name == graph.End {
		return name
	}
	if !p.hasNode(name) {
		n.Fault(document.Hint(name, append(append([]string{graph.End}, also...), p.nodeNames...)), "there is no node %q", name)
		return ""
	}
	return name
}

func (p *parser) hasNode(name string) bool {
	for _, n := range p.nodeNames {
		if n == name {
			return true
		}
	}
	return false
}

// leadsOn reports whether a failure has successors of its own.
func (h *handler) leadsOn() bool { return h != nil && h.to != "" }

// run writes down the failure, or goes where it leads.
func (h *handler) run(n *node) graph.Func {
	return func(ctx context.Context, in graph.Input) (graph.Update, error) {
		f := state.FailureOf(in.Err)
		u, err := h.writes.update(ctx, n.env(in).with("error", map[string]any{
			"code": f.Code, "message": f.Message, "server": f.Server, "node": n.name,
		}))
		if err == nil && h.to != "" {
			u.Goto, u.Named = []graph.Send{{Node: h.to}}, true
		}
		return u, err
	}
}
