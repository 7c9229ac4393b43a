package document

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"junction/state/value"
)

// Kind is what a node is, in the words of the messages.
type Kind string

const (
	Nothing Kind = "nothing" // null, or left empty
	Boolean Kind = "true or false"
	Number  Kind = "a number"
	Text    Kind = "text"
	List    Kind = "a list"
	Map     Kind = "a mapping"
)

// Node is one value of a document.
type Node struct {
	Kind         Kind
	Line, Column int    // of its first character, from 1; of an alias: of what it stands for
	Path         string // such as nodes.review.call; "" at the top

	doc     *Document
	style   yaml.Style
	scalar  any
	items   []*Node
	entries []Entry
}

// Entry is one key of a mapping with its value.
type Entry struct {
	Key  string
	At   *Node // the key itself, as text, for its position
	Node *Node
}

// build turns a node of the YAML library into one of ours, aliases expanded.
func (d *Document) build(y *yaml.Node, path string, depth int) *Node {
	if y == nil {
		return &Node{Kind: Nothing, Line: 1, Column: 1, Path: path, doc: d}
	}
	n := &Node{Kind: Nothing, Line: y.Line, Column: y.Column, Path: path, doc: d, style: y.Style}
	if d.nodes++; d.nodes > MaxNodes {
		if !d.full {
			d.full = true
			n.Fault("use fewer aliases, or pass data as input", "the file expands to more than %d values", MaxNodes)
		}
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		if d.open[y.Alias] {
			n.Fault("", "the alias *%s contains itself", y.Value)
			return n
		}
		return d.build(y.Alias, path, depth)
	case yaml.ScalarNode:
		n.resolve(y)
		return n
	}
	if depth == MaxDepth {
		n.Fault("", "nested more than %d deep", MaxDepth)
		return n
	}
	d.open[y] = true
	defer delete(d.open, y)
	switch tag := y.ShortTag(); {
	case y.Kind == yaml.SequenceNode && tag == "!!seq":
		n.Kind = List
		for i, c := range y.Content {
			n.items = append(n.items, d.build(c, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case y.Kind == yaml.MappingNode && tag == "!!map":
		n.Kind = Map
		n.mapping(y, depth)
	default:
		n.Fault("remove the tag", "the tag %s means nothing here", tag)
	}
	return n
}

func (n *Node) mapping(y *yaml.Node, depth int) {
	lines := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		at := &Node{Kind: Text, Line: k.Line, Column: k.Column, Path: n.Path, doc: n.doc, style: k.Style, scalar: k.Value}
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch tag := k.ShortTag(); {
		case k.Kind == yaml.ScalarNode && tag == "!!merge":
			at.Fault("write the keys out, or use an alias for the whole value", "merge keys (<<) are not read")
			continue
		case k.Kind != yaml.ScalarNode || tag != "!!str":
			at.Fault("put it in quotes", "a key must be text")
			continue
		}
		at.scalar = k.Value
		if line, dup := lines[k.Value]; dup {
			at.Fault("remove one of them", "the key %q stands here twice; first in line %d", k.Value, line)
			continue
		}
		lines[k.Value] = k.Line
		path := value.Key(k.Value)
		if n.Path != "" && path[0] != '[' {
			path = "." + path
		}
		at.Path = n.Path + path
		n.entries = append(n.entries, Entry{Key: k.Value, At: at, Node: n.doc.build(y.Content[i+1], n.Path+path, depth+1)})
	}
}

// Fault records a fault at the node. The hint may be "".
func (n *Node) Fault(hint, format string, args ...any) {
	n.doc.Add(Fault{Line: n.Line, Column: n.Column, Path: n.Path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// FaultAt records a fault at byte offset of the node's text.
func (n *Node) FaultAt(offset int, hint, format string, args ...any) {
	line, column := n.Position(offset)
	n.doc.Add(Fault{Line: line, Column: column, Path: n.Path, Message: fmt.Sprintf(format, args...), Hint: hint})
}
