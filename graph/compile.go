package graph

import (
	"cmp"
	"slices"
)

// DefaultRecursionLimit bounds the supersteps of a run whose Spec sets none.
const DefaultRecursionLimit = 1000

// Graph is a checked Spec, ready to run. It is immutable and safe for
// concurrent use.
type Graph struct {
	spec     Spec
	channels map[string]int // index into spec.Channels
	nodes    []node         // sorted by name: task order
	names    map[string]int // index into nodes
	start    exits
	joins    []join
	limit    int
	initial  []cell // defaults
}

// node is a Node with everything resolved that a superstep needs.
type node struct {
	Node
	exits
	from   []string // its own name: the From of tasks that only it leads to
	writes []bool   // by channel; nil: all
	goes   []bool   // by node: may be named as a successor
	goEnd  bool
}

// exits are the ways on from a node, or from the start.
type exits struct {
	next   []int // nodes an edge leads to, in order
	end    bool  // an edge leads to End
	joins  []int // joins it takes part in
	routes []int // into spec.Routes
}

// join is an Edge with several From.
type join struct {
	from []string // sorted
	to   int
}

func (x exits) none() bool {
	return len(x.next) == 0 && !x.end && len(x.joins) == 0 && len(x.routes) == 0
}

// Compile checks a Spec and resolves it. Everything wrong is reported at once
// in a *SpecError. The Spec's slices must not be changed afterwards.
func Compile(s Spec) (*Graph, error) {
	c := &compiler{
		g:      &Graph{spec: s, limit: s.RecursionLimit, channels: map[string]int{}, names: map[string]int{}},
		broken: map[string]bool{},
	}
	if c.g.limit == 0 {
		c.g.limit = DefaultRecursionLimit
	}
	c.settings()
	c.addChannels()
	c.addNodes()
	c.addEdges()
	c.addRoutes()
	c.ways()
	if len(c.faults) > 0 {
		return nil, &SpecError{Graph: s.Name, Faults: c.faults}
	}
	return c.g, nil
}

// Spec returns what the graph was compiled from.
func (g *Graph) Spec() Spec { return g.spec }

type compiler struct {
	g      *Graph
	faults []Fault
	broken map[string]bool // nodes with a way on that is a fault itself
}

func (c *compiler) fault(k FaultKind, place, name, message string) {
	c.faults = append(c.faults, Fault{Kind: k, Place: place, Name: name, Message: message})
}

// addNodes sorts the nodes by name and resolves what they name.
func (c *compiler) addNodes() {
	g := c.g
	for i, n := range g.spec.Nodes {
		if c.goodName("node", n.Name, i, func(o string) bool { _, ok := g.names[o]; return ok }) {
			g.names[n.Name] = 0
			g.nodes = append(g.nodes, node{Node: n, from: []string{n.Name}})
		}
	}
	slices.SortFunc(g.nodes, func(a, b node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range g.nodes {
		g.names[g.nodes[i].Name] = i
	}
	for i := range g.nodes {
		c.resolve(&g.nodes[i])
	}
}

func (c *compiler) resolve(n *node) {
	place := quoted("node", n.Name)
	c.nodeSettings(place, n.Node)
	if n.Writes != nil {
		n.writes = make([]bool, len(c.g.spec.Channels))
	}
	for _, w := range n.Writes {
		if i, ok := c.g.channels[w]; ok {
			n.writes[i] = true
		} else {
			c.fault(FaultUnknown, place, w, "writes channel "+w+", which does not exist; "+known(c.channelNames()))
		}
	}
	n.goes = make([]bool, len(c.g.nodes))
	for _, to := range n.Goto {
		if to == End {
			n.goEnd = true
		} else if i, ok := c.target(place, to); ok {
			n.goes[i] = true
		}
	}
}

// target finds a node that something at place leads to.
func (c *compiler) target(place, name string) (int, bool) {
	i, ok := c.g.names[name]
	switch {
	case name == Start:
		c.fault(FaultName, place, name, "nothing can lead to the start")
		return 0, false
	case !ok:
		c.fault(FaultUnknown, place, name, "leads to node "+name+", which does not exist; "+known(c.nodeNames()))
	}
	return i, ok
}

func (c *compiler) nodeNames() []string {
	var names []string
	for _, n := range c.g.nodes {
		names = append(names, n.Name)
	}
	return names
}

func (c *compiler) channelNames() []string {
	var names []string
	for _, ch := range c.g.spec.Channels {
		if ch.Name != "" {
			names = append(names, ch.Name)
		}
	}
	return names
}
