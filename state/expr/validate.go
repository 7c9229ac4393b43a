package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"junction/state/document"
	"junction/state/value"
)

// validator finds what can be said of an expression without its values:
// unknown names and functions, wrong numbers of arguments, forms we do not have.
type validator struct {
	c     *compiler
	e     *expression
	local []string // let variables in scope
	depth int      // of predicates
}

// absent are functions of expr-lang that are left out on purpose.
var absent = map[string]string{
	"now": "there is no clock in expressions", "date": "there is no clock in expressions",
	"duration": "there is no clock in expressions", "timezone": "there is no time zone in expressions",
}

func (v *validator) errorf(n ast.Node, hint, format string, args ...any) {
	v.c.errs = append(v.c.errs, v.e.errorf(n.Location().From, hint, format, args...))
}

func (v *validator) nodes(ns ...ast.Node) {
	for _, n := range ns {
		if n != nil {
			v.node(n)
		}
	}
}

func (v *validator) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.BoolNode, *ast.StringNode:
	case *ast.FloatNode:
		v.fraction(n)
	case *ast.BytesNode:
		v.errorf(n, "use text, with toBase64 where needed", "there are no byte strings")
	case *ast.IdentifierNode:
		v.name(n)
	case *ast.UnaryNode:
		v.node(n.Node)
	case *ast.BinaryNode:
		v.binary(n)
	case *ast.ChainNode:
		v.node(n.Node)
	case *ast.MemberNode:
		v.nodes(n.Node, n.Property)
	case *ast.SliceNode:
		v.nodes(n.Node, n.From, n.To)
	case *ast.CallNode:
		v.call(n)
	case *ast.BuiltinNode:
		v.function(n, n.Name, n.Arguments)
	case *ast.PredicateNode:
		v.depth++
		v.node(n.Node)
		v.depth--
	case *ast.PointerNode:
		if n.Name != "" && n.Name != "index" && n.Name != "acc" {
			v.errorf(n, "known: #, #index, #acc", "unknown name #%s", n.Name)
		}
	case *ast.ConditionalNode:
		v.nodes(n.Cond, n.Exp1, n.Exp2)
	case *ast.VariableDeclaratorNode:
		v.node(n.Value)
		v.local = append(v.local, n.Name)
		v.node(n.Expr)
		v.local = v.local[:len(v.local)-1]
	case *ast.SequenceNode:
		v.errorf(n, "use let x = …; to name a value", "an expression has one value, not several")
	case *ast.ArrayNode:
		v.nodes(n.Nodes...)
	case *ast.MapNode:
		for _, p := range n.Pairs {
			pair := p.(*ast.PairNode)
			v.nodes(pair.Key, pair.Value)
		}
	default:
		v.errorf(n, "", "this form is not known here")
	}
}

// fraction reads a number with a point or an exponent as it is written: the
// parser has rounded it.
func (v *validator) fraction(n *ast.FloatNode) {
	at, source := n.Location(), []rune(v.e.source)
	if at.From < 0 || at.To > len(source) || at.From >= at.To {
		return
	}
	text := strings.ReplaceAll(string(source[at.From:at.To]), "_", "")
	exact, err := value.Parse([]byte(text))
	var syntax *value.SyntaxError
	switch {
	case errors.As(err, &syntax): // .5 and 1. are no JSON, and short
	case err != nil:
		v.errorf(n, "", "%v", err)
	default:
		v.e.fractions[n] = exact
	}
}

func (v *validator) name(n *ast.IdentifierNode) {
	if slices.Contains(v.local, n.Value) {
		return
	}
	if slices.Contains(v.c.known, n.Value) {
		v.c.used[n.Value] = true
		return
	}
	if n.Value == "null" {
		return
	}
	known := slices.Concat(v.c.known, v.local)
	hint := document.Hint(n.Value, known)
	if _, fn := functions[n.Value]; fn && document.Suggest(n.Value, known) == "" {
		hint = n.Value + "(…) is a function"
	}
	if v.depth > 0 && hint == "" {
		hint = "the item's key is ." + n.Value
	}
	v.errorf(n, hint, "unknown name %q", n.Value)
}

func (v *validator) binary(n *ast.BinaryNode) {
	v.nodes(n.Left, n.Right)
	switch _, known := binaryKinds[n.Operator]; {
	case !known:
		v.errorf(n, "", "unknown operator %s", n.Operator)
	case n.Operator == "matches":
		if s, ok := n.Right.(*ast.StringNode); ok {
			p, err := newPattern(s.Value)
			if err != nil {
				v.errorf(s, "the syntax is RE2's", "%v", err)
				return
			}
			v.e.patterns[s] = p
		}
	}
}

func (v *validator) call(n *ast.CallNode) {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		v.function(n, callee.Value, n.Arguments)
	case *ast.MemberNode:
		v.errorf(n, "call functions as upper(x) or x | upper()", "values have no methods")
	default:
		v.errorf(n, "", "only functions can be called")
	}
}

func (v *validator) function(n ast.Node, name string, args []ast.Node) {
	v.nodes(args...)
	f, ok := functions[name]
	if !ok {
		if why, left := absent[name]; left {
			v.errorf(n, "pass the time in as input", "%s() is not available: %s", name, why)
			return
		}
		v.errorf(n, document.Hint(name, slices.Collect(maps.Keys(functions))), "unknown function %q", name)
		return
	}
	if len(args) < f.min || len(args) > f.max && f.max >= 0 {
		v.errorf(n, "", "%s takes %s, not %d", name, f.arity(), len(args))
		return
	}
	for i, a := range args {
		if _, predicate := a.(*ast.PredicateNode); predicate != (f.each != nil && i == 1) {
			v.errorf(n, "", "argument %d of %s is of the wrong form", i+1, name)
			return
		}
	}
	v.e.calls[n] = call{name, f}
}

func (f function) arity() string {
	switch {
	case f.max < 0:
		return fmt.Sprintf("%d or more arguments", f.min)
	case f.min == f.max:
		return strings.TrimSuffix(fmt.Sprintf("%d arguments", f.min), map[bool]string{true: "s"}[f.min == 1])
	}
	return fmt.Sprintf("%d to %d arguments", f.min, f.max)
}
