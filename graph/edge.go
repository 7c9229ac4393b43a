package graph

import (
	"fmt"
	"slices"
	"strings"
)

// addEdges resolves edges and joins.
func (c *compiler) addEdges() {
	for _, e := range c.g.spec.Edges {
		place := fmt.Sprintf("edge %s → %s", strings.Join(e.From, ", "), e.To)
		switch {
		case len(e.From) == 0:
			c.fault(FaultValue, place, e.To, "it leads from nowhere")
		case len(e.From) > 1 && e.To != End:
			c.addJoin(place, e)
		default:
			for _, from := range e.From {
				c.addEdge(place, from, e.To)
			}
		}
	}
	for i := range c.g.nodes {
		slices.Sort(c.g.nodes[i].next)
	}
	slices.Sort(c.g.start.next)
}

func (c *compiler) addEdge(place, from, to string) {
	x, ok := c.source(place, from)
	if to == End {
		if ok {
			x.end = true
		}
		return
	}
	t, found := c.target(place, to)
	c.broken[from] = c.broken[from] || !found
	if ok && found && !slices.Contains(x.next, t) {
		x.next = append(x.next, t)
	}
}

// source finds the exits that something at place adds to.
func (c *compiler) source(place, from string) (*exits, bool) {
	if from == Start {
		return &c.g.start, true
	}
	if from == End {
		c.fault(FaultName, place, from, "nothing leads on from the end")
		return nil, false
	}
	i, ok := c.g.names[from]
	if !ok {
		c.fault(FaultUnknown, place, from, "leads from node "+from+", which does not exist; "+known(c.nodeNames()))
		return nil, false
	}
	return &c.g.nodes[i].exits, true
}

func (c *compiler) addJoin(place string, e Edge) {
	from := slices.Sorted(slices.Values(e.From))
	for _, f := range from {
		if f == Start || f == e.To {
			c.fault(FaultJoin, place, f, "it waits for "+f+", which can never have run before it")
			return
		}
	}
	if len(slices.Compact(slices.Clone(from))) < len(from) {
		c.fault(FaultJoin, place, e.To, "it names a node twice")
		return
	}
	to, ok := c.target(place, e.To)
	for _, f := range from {
		if _, found := c.source(place, f); !found {
			ok = false
		}
	}
	if !ok {
		return
	}
	for _, j := range c.g.joins {
		if j.to == to && slices.ContainsFunc(from, func(f string) bool { return slices.Contains(j.from, f) }) {
			c.fault(FaultJoin, place, e.To, "two joins lead to "+e.To+" that share a predecessor: one arrival could not be told from the other's")
			return
		}
	}
	for _, f := range from {
		n := &c.g.nodes[c.g.names[f]]
		n.joins = append(n.joins, len(c.g.joins))
	}
	c.g.joins = append(c.g.joins, join{from: from, to: to})
}

// addRoutes resolves conditional routes.
func (c *compiler) addRoutes() {
	for i, r := range c.g.spec.Routes {
		place := fmt.Sprintf("route %s → %s", r.From, strings.Join(r.To, " | "))
		if r.Pick == nil {
			c.fault(FaultValue, place, r.From, "it has no function that picks")
		}
		if len(r.To) == 0 {
			c.fault(FaultValue, place, r.From, "it names nowhere it could lead to")
		}
		for _, to := range r.To {
			if to != End {
				c.target(place, to)
			}
		}
		if x, ok := c.source(place, r.From); ok {
			x.routes = append(x.routes, i)
		}
	}
}
