package document

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"junction/state/value"
)

// resolve gives a scalar its kind and value. Numbers are read as JSON reads
// them, plus 0x, 0o and 0b; what YAML 1.1 and 1.2 read differently is a fault.
func (n *Node) resolve(y *yaml.Node) {
	switch y.ShortTag() {
	case "!!null":
		n.Kind = Nothing
	case "!!str", "!!timestamp":
		n.Kind, n.scalar = Text, y.Value
	case "!!bool":
		n.Kind, n.scalar = Boolean, strings.EqualFold(y.Value, "true")
	case "!!int", "!!float":
		n.Kind, n.scalar = Number, int64(0)
		v, err := number(y.Value)
		if err != nil {
			n.Fault("write it in decimal, or put it in quotes to make it text", "the number %s cannot be read: %v", y.Value, err)
			return
		}
		n.scalar = v
	default:
		n.Fault("remove the tag", "the tag %s means nothing here", y.ShortTag())
	}
}

func number(text string) (any, error) {
	if len(text) > 2 && text[0] == '0' && strings.ContainsRune("xob", rune(text[1])) {
		return strconv.ParseInt(text[2:], map[byte]int{'x': 16, 'o': 8, 'b': 2}[text[1]], 64)
	}
	return value.Parse([]byte(text))
}

// Value returns the node as a canonical value of package value; nil for nil.
func (n *Node) Value() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case List:
		list := make([]any, len(n.items))
		for i, e := range n.items {
			list[i] = e.Value()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.Key] = e.Node.Value()
		}
		return m
	}
	return n.scalar
}

// At returns the node at a path below n, such as with.files[2]; n itself for ""
// and where there is none.
func (n *Node) At(path string) *Node {
	if path == "" {
		return n
	}
	if n.Path != "" && path[0] != '[' {
		path = "." + path
	}
	if found := n.find(n.Path + path); found != nil {
		return found
	}
	return n
}

func (n *Node) find(path string) *Node {
	if n.Path == path {
		return n
	}
	if !strings.HasPrefix(path, n.Path) {
		return nil
	}
	for _, item := range n.items {
		if found := item.find(path); found != nil {
			return found
		}
	}
	for _, e := range n.entries {
		if found := e.Node.find(path); found != nil {
			return found
		}
	}
	return nil
}
