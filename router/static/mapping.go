package static

import (
	"errors"

	"junction/state/document"
	"junction/state/expr"
)

// mapping compiles the value of with or result, in which only these names are
// known; nil for none.
func mapping(n *document.Node, variables ...string) *expr.Template {
	if n == nil {
		return nil
	}
	t, err := expr.CompileValue(n.Value(), variables...)
	if err == nil {
		return t
	}
	var all expr.Errors
	if !errors.As(err, &all) {
		n.Fault("", "%v", err)
		return nil
	}
	for _, e := range all {
		at := below(n, join(n.Path, e.Path))
		plain := &expr.Error{Source: e.Source, Message: e.Message}
		at.FaultAt(e.Offset, e.Hint, "%s", plain.Error())
	}
	return nil
}

// below finds the node of a path in n; n itself when there is none.
func below(n *document.Node, path string) *document.Node {
	var children []*document.Node
	switch {
	case n.Path == path:
		return n
	case n.Kind == document.List:
		children = n.List()
	case n.Kind == document.Map:
		for _, e := range n.Mapping().Entries() {
			children = append(children, e.Node)
		}
	}
	for _, c := range children {
		if found := below(c, path); found.Path == path {
			return found
		}
	}
	return n
}

func join(path, rest string) string {
	if rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}
