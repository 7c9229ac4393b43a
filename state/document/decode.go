package document

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// is reports whether n is there and of the kind; another kind is a fault.
func (n *Node) is(k Kind) bool {
	if n == nil {
		return false
	}
	if n.Kind != k {
		n.Fault("", "%s is expected here, not %s", k, n.Kind)
		return false
	}
	return true
}

// Text returns the node's text; "" for nil.
func (n *Node) Text() string {
	if !n.is(Text) {
		return ""
	}
	return n.scalar.(string)
}

// Word is Text that may not be empty.
func (n *Node) Word() string {
	s := n.Text()
	if s == "" && n != nil && n.Kind == Text {
		n.Fault("", "text that is not empty is expected here")
	}
	return s
}

// OneOf is Text that must be one of words.
func (n *Node) OneOf(words ...string) string {
	if !n.is(Text) {
		return ""
	}
	s := n.scalar.(string)
	for _, w := range words {
		if s == w {
			return s
		}
	}
	n.Fault(Hint(s, words), "%q is none of %s", s, strings.Join(words, ", "))
	return ""
}

// Bool returns true or false; false for nil.
func (n *Node) Bool() bool {
	if n != nil && n.Kind == Text {
		n.Fault("write true or false, without quotes", "true or false is expected here, not text")
		return false
	}
	return n.is(Boolean) && n.scalar.(bool)
}

// Int returns an integer between low and high; low for a fault, 0 for nil.
func (n *Node) Int(low, high int64) int64 {
	if n == nil || !n.is(Number) {
		return 0
	}
	i, ok := n.scalar.(int64)
	if !ok || i < low || i > high {
		n.Fault("", "a whole number from %d to %d is expected here, not %v", low, high, n.scalar)
		return low
	}
	return i
}

// Duration returns a length of time above zero, such as 250ms, 10s or 1h30m; 0
// for nil.
func (n *Node) Duration() time.Duration {
	const hint = "write it with its unit, such as 250ms, 10s or 5m"
	if n == nil {
		return 0
	}
	if n.Kind != Text {
		n.Fault(hint, "a length of time is expected here, not %s", n.Kind)
		return 0
	}
	s := n.scalar.(string)
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		n.Fault(hint, "%q is no length of time", s)
		return 0
	case d <= 0:
		n.Fault("leave it out to have the default", "%q is not above zero", s)
		return 0
	}
	return d
}

// List returns a list's items; none for nil.
func (n *Node) List() []*Node {
	if !n.is(List) {
		return nil
	}
	return n.items
}

// Texts returns a list of texts, or one text as a list of itself.
func (n *Node) Texts() []string {
	if n != nil && n.Kind == Text {
		return []string{n.Text()}
	}
	var all []string
	for _, item := range n.List() {
		all = append(all, item.Text())
	}
	return all
}

// Mapping is a node read as a mapping. A nil one is empty.
type Mapping struct {
	node  *Node
	byKey map[string]*Node
}

// Mapping reads the node as a mapping with the keys that are known; every other
// key is a fault with a suggestion. When none is given any key goes. It is nil
// for nil and for a node that is no mapping.
func (n *Node) Mapping(known ...string) *Mapping {
	if !n.is(Map) {
		return nil
	}
	m := &Mapping{node: n, byKey: make(map[string]*Node, len(n.entries))}
	for _, e := range n.entries {
		m.byKey[e.Key] = e.Node
		if len(known) > 0 && !slices.Contains(known, e.Key) {
			e.At.Fault(Hint(e.Key, known), "unknown key %q", e.Key)
		}
	}
	return m
}

// Entries returns the keys and values in the file's order.
func (m *Mapping) Entries() []Entry {
	if m == nil {
		return nil
	}
	return m.node.entries
}

// Get returns the value of a key, or nil.
func (m *Mapping) Get(key string) *Node {
	if m == nil {
		return nil
	}
	return m.byKey[key]
}

// Has reports whether the key is there.
func (m *Mapping) Has(key string) bool { return m.Get(key) != nil }

// Require is Get for a key that must be there.
func (m *Mapping) Require(key string) *Node {
	if m == nil {
		return nil
	}
	n := m.byKey[key]
	if n == nil {
		m.node.Fault(fmt.Sprintf("add %s: …", key), "the key %q is missing", key)
	}
	return n
}

// Node returns the mapping as a node, nil for nil.
func (m *Mapping) Node() *Node {
	if m == nil {
		return nil
	}
	return m.node
}
