package static

import (
	"junction/router"
	"junction/state"
	"junction/state/document"
)

// verify reads what tells whether a call took effect: a tool's name, or a tool with
// mappings.
func (r *reader) verify(n *document.Node, e state.Effect) *router.Verify {
	if n == nil {
		return nil
	}
	if e == state.Safe {
		n.Fault("remove it: a safe call is simply made again", "verify is for calls with an effect, and this offer is safe")
		return nil
	}
	if n.Kind != document.Map {
		return &router.Verify{Tool: n.Word()}
	}
	m := n.Mapping("tool", "with", "result")
	return &router.Verify{
		Tool:   m.Require("tool").Word(),
		With:   mapping(m.Get("with"), "with", "key"),
		Result: mapping(m.Get("result"), "result"),
	}
}
