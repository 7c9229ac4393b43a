package expr

import (
	"strconv"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

// node evaluates a syntax node.
func (r *run) node(n ast.Node) (any, error) {
	if err := r.step(1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.NilNode:
		return nil, nil
	case *ast.IntegerNode:
		return int64(n.Value), nil
	case *ast.FloatNode:
		if v, ok := r.e.fractions[n]; ok {
			return v, nil
		}
		return canonical(n, n.Value)
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IdentifierNode:
		return r.name(n)
	case *ast.PointerNode:
		return r.pointer(n)
	case *ast.ChainNode, *ast.MemberNode:
		return r.member(n)
	case *ast.SliceNode:
		return r.slice(n)
	case *ast.UnaryNode:
		return r.unary(n)
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.ConditionalNode:
		return r.conditional(n)
	case *ast.VariableDeclaratorNode:
		return r.let(n)
	case *ast.ArrayNode:
		return r.array(n)
	case *ast.MapNode:
		return r.object(n)
	case *ast.CallNode:
		return r.call(n, n.Arguments)
	case *ast.BuiltinNode:
		return r.call(n, n.Arguments)
	}
	return nil, fail(n, "", "this form is not known here")
}

func (r *run) name(n *ast.IdentifierNode) (any, error) {
	for i := len(r.locals) - 1; i >= 0; i-- {
		if r.locals[i].name == n.Value {
			return r.locals[i].v, nil
		}
	}
	if v, ok := r.vars[n.Value]; ok {
		return v, nil
	}
	if n.Value == "null" {
		return nil, nil
	}
	return nil, fail(n, "", "there is no value of the name %q here", n.Value)
}

func (r *run) pointer(n *ast.PointerNode) (any, error) {
	if len(r.scopes) == 0 {
		return nil, fail(n, "", "# stands for an item and has none here")
	}
	s := r.scopes[len(r.scopes)-1]
	switch n.Name {
	case "index":
		return int64(s.index), nil
	case "acc":
		return s.acc, nil
	}
	return s.items[s.index], nil
}

func (r *run) conditional(n *ast.ConditionalNode) (any, error) {
	yes, err := r.boolean(n.Cond, "a condition")
	if err != nil {
		return nil, err
	}
	if yes {
		return r.node(n.Exp1)
	}
	return r.node(n.Exp2)
}

// boolean evaluates a node that must be true or false.
func (r *run) boolean(n ast.Node, what string) (bool, error) {
	v, err := r.node(n)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fail(n, "compare it with something", "%s must be true or false; %s is %s", what, r.describe(n), article(v))
	}
	return b, nil
}

func (r *run) let(n *ast.VariableDeclaratorNode) (any, error) {
	v, err := r.node(n.Value)
	if err != nil {
		return nil, err
	}
	r.locals = append(r.locals, local{n.Name, v})
	v, err = r.node(n.Expr)
	r.locals = r.locals[:len(r.locals)-1]
	return v, err
}

func (r *run) array(n *ast.ArrayNode) (any, error) {
	if err := r.grow(16 * len(n.Nodes)); err != nil {
		return nil, err
	}
	out := make([]any, len(n.Nodes))
	for i, e := range n.Nodes {
		v, err := r.node(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (r *run) object(n *ast.MapNode) (any, error) {
	if err := r.grow(48 * len(n.Pairs)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(n.Pairs))
	for _, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		k, err := r.node(pair.Key)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, fail(pair.Key, "use string(…)", "a key must be text, not %s", article(k))
		}
		if out[key], err = r.node(pair.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describe names a node as its author would: by its path where it has one.
func (r *run) describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.ChainNode:
		return r.describe(n.Node)
	case *ast.PointerNode:
		if n.Name != "" || len(r.scopes) == 0 {
			return "#" + n.Name
		}
		s := r.scopes[len(r.scopes)-1]
		outer := *r
		outer.scopes = r.scopes[:len(r.scopes)-1]
		return outer.describe(s.of) + "[" + strconv.Itoa(s.index) + "]"
	case *ast.MemberNode:
		base := r.describe(n.Node)
		switch p := n.Property.(type) {
		case *ast.StringNode:
			return join(base, p.Value)
		case *ast.IntegerNode:
			return base + "[" + strconv.Itoa(p.Value) + "]"
		}
		return base + "[…]"
	case *ast.CallNode:
		return n.Callee.(*ast.IdentifierNode).Value + "(…)"
	case *ast.BuiltinNode:
		return n.Name + "(…)"
	}
	return "the value"
}

// article names the type of a value in a sentence.
func article(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return value.Kind(v)
}
