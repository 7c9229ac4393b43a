package workflow

import "junction/graph"

// Spec builds the graph whose nodes make their hops through tools. nil is enough
// to look at the graph, and for a workflow without calls and routes.
func (w *Workflow) Spec(tools Tools) graph.Spec {
	s := graph.Spec{Name: w.Name, Version: w.Hash, RecursionLimit: w.limit, Edges: w.edges}
	for i := range w.Channels {
		s.Channels = append(s.Channels, w.Channels[i].spec())
	}
	for _, n := range w.nodes {
		s.Nodes = append(s.Nodes, n.spec(tools))
	}
	for _, r := range w.routes {
		s.Routes = append(s.Routes, graph.Route{From: r.from, To: r.to, Pick: r.pick})
	}
	return s
}

func (n *node) spec(tools Tools) graph.Node {
	g := graph.Node{
		Name: n.name, Run: n.run(tools), Retry: n.retry, Timeout: n.timeout, Writes: n.channels(),
		PauseBefore: n.pause == "before", PauseAfter: n.pause == "after",
	}
	if n.each != nil {
		g.Each = n.items
	}
	if h := n.onError; h != nil {
		g.OnError = h.run(n)
		if h.to != "" {
			g.Goto = []string{h.to}
		}
	}
	return g
}

// channels are those the node or its error handler writes; none is not all.
func (n *node) channels() []string {
	all := n.writes
	if n.onError != nil {
		all = append(all[:len(all):len(all)], n.onError.writes...)
	}
	return append([]string{}, all.channels()...)
}
