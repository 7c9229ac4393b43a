package graph

import (
	"fmt"
	"reflect"
)

func quoted(kind, name string) string { return fmt.Sprintf("%s %q", kind, name) }

// settings checks what belongs to the graph as a whole.
func (c *compiler) settings() {
	place := quoted("graph", c.g.spec.Name)
	if c.g.spec.Name == "" {
		c.fault(FaultName, place, "", "it needs a name: threads are stored under it")
	}
	if c.g.limit < 0 {
		c.fault(FaultValue, place, "", "RecursionLimit is negative; 0 means the default")
	}
}

// goodName reports the faults of a name; i is its place in the Spec.
func (c *compiler) goodName(kind, name string, i int, taken func(string) bool) bool {
	switch {
	case name == "":
		c.fault(FaultName, fmt.Sprintf("%s %d", kind, i+1), "", "it has no name")
	case kind == "node" && (name == Start || name == End):
		c.fault(FaultName, quoted(kind, name), name, "the name is reserved for the graph's border")
	case taken(name):
		c.fault(FaultName, quoted(kind, name), name, "the name is used twice")
	default:
		return true
	}
	return false
}

// addChannels indexes the channels and prepares their initial values.
func (c *compiler) addChannels() {
	g := c.g
	g.initial = make([]cell, len(g.spec.Channels))
	for i, ch := range g.spec.Channels {
		place := quoted("channel", ch.Name)
		if c.goodName("channel", ch.Name, i, func(o string) bool { _, ok := g.channels[o]; return ok }) {
			g.channels[ch.Name] = i
		}
		if ch.Append && ch.Reduce != nil {
			c.fault(FaultValue, place, ch.Name, "an append channel takes no reducer")
		}
		if ch.Append && ch.Type != nil && ch.Type.Kind() != reflect.Slice {
			c.fault(FaultType, place, ch.Name, fmt.Sprintf("an append channel holds a list, not %s", ch.Type))
			continue
		}
		if ch.Append {
			g.initial[i] = cell{value: ch.empty(), ok: true}
		}
		if ch.Default == nil {
			continue
		}
		v, err := ch.accept(ch.Default)
		if err != nil {
			c.fault(FaultType, place, ch.Name, fmt.Sprintf("its default does not fit: %v", err))
			continue
		}
		g.initial[i] = cell{value: v, ok: true}
	}
}

func (c *compiler) nodeSettings(place string, n Node) {
	if n.Run == nil {
		c.fault(FaultValue, place, n.Name, "it has nothing to run")
	}
	if n.Timeout < 0 {
		c.fault(FaultValue, place, n.Name, "its timeout is negative; 0 means none")
	}
	if r := n.Retry; r != nil && (r.Attempts < 0 || r.Delay < 0 || r.Cap < 0) {
		c.fault(FaultValue, place, n.Name, "its retry has a negative setting; 0 means the default")
	}
}
