package graph

// ways checks that every node can be reached and leads somewhere.
func (c *compiler) ways() {
	g := c.g
	if g.start.none() && !c.broken[Start] {
		c.fault(FaultNoWayOn, Start, Start, "nothing leads on from the start; add an edge from it to the first node")
	}
	for _, n := range g.nodes {
		if n.none() && len(n.Goto) == 0 && !c.broken[n.Name] {
			c.fault(FaultNoWayOn, quoted("node", n.Name), n.Name, "nothing leads on from it; add an edge to its successor or to end")
		}
	}
	if g.start.none() {
		return // every node would be said to be unreachable
	}
	seen := g.reachable()
	for i, n := range g.nodes {
		if !seen[i] {
			c.fault(FaultUnreachable, quoted("node", n.Name), n.Name, "nothing leads to it from the start")
		}
	}
}

// reachable walks every way on from the start; a join is reached from any of
// its predecessors, since each is checked by itself.
func (g *Graph) reachable() []bool {
	seen := make([]bool, len(g.nodes))
	var walk func(x exits)
	visit := func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		n := g.nodes[i]
		walk(n.exits)
	}
	walk = func(x exits) {
		for _, i := range x.next {
			visit(i)
		}
		for _, j := range x.joins {
			visit(g.joins[j].to)
		}
		for _, r := range x.routes {
			for _, to := range g.spec.Routes[r].To {
				if i, ok := g.names[to]; ok {
					visit(i)
				}
			}
		}
	}
	walk(g.start)
	// Successors a node names itself count once the node is reached; repeat
	// until nothing new is found.
	for changed := true; changed; {
		changed = false
		for i := range g.nodes {
			for to, goes := range g.nodes[i].goes {
				if seen[i] && goes && !seen[to] {
					visit(to)
					changed = true
				}
			}
		}
	}
	return seen
}
