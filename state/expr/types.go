package expr

import (
	"strings"

	"github.com/expr-lang/expr/ast"
)

// kinds is a set of JSON types: what a value may be.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBool
	isNumber
	isText
	isList
	isObject
	isAny = isNull | isBool | isNumber | isText | isList | isObject
)

var kindNames = map[string]kinds{
	"null": isNull, "boolean": isBool, "number": isNumber, "string": isText, "array": isList, "object": isObject,
}

func kindOf(v any) kinds {
	switch v.(type) {
	case nil:
		return isNull
	case bool:
		return isBool
	case int64, float64:
		return isNumber
	case string:
		return isText
	case []any:
		return isList
	}
	return isObject
}

// name is the JSON type when there is only one, null apart, else "any".
func (k kinds) name() string {
	if k != isNull {
		k &^= isNull
	}
	for n, one := range kindNames {
		if k == one {
			return n
		}
	}
	return "any"
}

func (k kinds) describe() string {
	if k == isAny {
		return "anything"
	}
	var words []string
	for i, w := range []string{"null", "true or false", "a number", "text", "a list", "an object"} {
		if k&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}

// TypeOf guesses the type of what the template gives: "string", "number",
// "boolean", "array", "object", "null", or "any" when that cannot be said.
// declared are the types of names in the same words; absent ones are "any".
func (t *Template) TypeOf(declared map[string]string) string {
	typ, _ := t.Check(declared)
	return typ
}

// Check is TypeOf that also reports where, whatever the values are, types cannot
// fit: a condition that is text, a member of a number, count of an object.
func (t *Template) Check(declared map[string]string) (typ string, errs Errors) {
	c := &checker{declared: make(map[string]kinds, len(declared))}
	for name, word := range declared {
		c.declared[name] = kindNames[word]
	}
	k := t.root.infer(c)
	return k.name(), c.errs
}

// binaryKinds says what the operators take on each side and give.
var binaryKinds = map[string]struct{ left, right, gives kinds }{
	"or": {isBool, isBool, isBool}, "||": {isBool, isBool, isBool},
	"and": {isBool, isBool, isBool}, "&&": {isBool, isBool, isBool},
	"==": {isAny, isAny, isBool}, "!=": {isAny, isAny, isBool},
	"<": {isNumber | isText, isNumber | isText, isBool}, "<=": {isNumber | isText, isNumber | isText, isBool},
	">": {isNumber | isText, isNumber | isText, isBool}, ">=": {isNumber | isText, isNumber | isText, isBool},
	"in": {isAny, isList | isObject, isBool}, "matches": {isText, isText, isBool}, "contains": {isText, isText, isBool},
	"startsWith": {isText, isText, isBool}, "endsWith": {isText, isText, isBool},
	"..": {isNumber, isNumber, isList}, "??": {isAny, isAny, isAny},
	"+": {isNumber | isText, isNumber | isText, isNumber | isText}, "-": {isNumber, isNumber, isNumber},
	"*": {isNumber, isNumber, isNumber}, "/": {isNumber, isNumber, isNumber}, "%": {isNumber, isNumber, isNumber},
	"**": {isNumber, isNumber, isNumber}, "^": {isNumber, isNumber, isNumber},
}

// checker infers types; see Check.
type checker struct {
	declared map[string]kinds
	e        *expression
	locals   []localKind
	errs     Errors
}

type localKind struct {
	name string
	kinds
}

func (e *expression) infer(c *checker) kinds {
	c.e, c.locals = e, nil
	return c.node(e.root)
}

// needs reports a node whose type cannot be one of want.
func (c *checker) needs(n ast.Node, want kinds, what string) kinds {
	k := c.node(n)
	if k&want == 0 {
		c.errs = append(c.errs, c.e.errorf(n.Location().From, "", "%s takes %s; %s is %s", what, want.describe(), (&run{}).describe(n), k.describe()))
		return want
	}
	return k
}

func (c *checker) node(n ast.Node) kinds {
	switch n := n.(type) {
	case nil:
		return isAny
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.IdentifierNode, *ast.PointerNode:
		return c.leaf(n)
	case *ast.UnaryNode:
		want := isNumber
		if n.Operator == "not" || n.Operator == "!" {
			want = isBool
		}
		c.needs(n.Node, want, n.Operator)
		return want
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ChainNode:
		return c.node(n.Node) | isNull
	case *ast.MemberNode:
		return c.member(n)
	case *ast.SliceNode:
		c.node(n.From)
		c.node(n.To)
		return c.needs(n.Node, isList|isText, "[…:…]") & (isList | isText)
	case *ast.ConditionalNode:
		c.needs(n.Cond, isBool, "a condition")
		return c.node(n.Exp1) | c.node(n.Exp2)
	case *ast.VariableDeclaratorNode:
		c.locals = append(c.locals, localKind{n.Name, c.node(n.Value)})
		k := c.node(n.Expr)
		c.locals = c.locals[:len(c.locals)-1]
		return k
	case *ast.PredicateNode:
		return c.node(n.Node)
	case *ast.CallNode:
		return c.call(n, n.Arguments)
	case *ast.BuiltinNode:
		return c.call(n, n.Arguments)
	case *ast.ArrayNode:
		for _, e := range n.Nodes {
			c.node(e)
		}
		return isList
	case *ast.MapNode:
		for _, p := range n.Pairs {
			c.node(p.(*ast.PairNode).Value)
		}
		return isObject
	}
	return isAny
}

func (c *checker) leaf(n ast.Node) kinds {
	switch n := n.(type) {
	case *ast.NilNode:
		return isNull
	case *ast.IntegerNode, *ast.FloatNode:
		return isNumber
	case *ast.BoolNode:
		return isBool
	case *ast.StringNode:
		return isText
	case *ast.IdentifierNode:
		return c.name(n.Value)
	case *ast.PointerNode:
		if n.Name == "index" {
			return isNumber
		}
	}
	return isAny
}

func (c *checker) name(name string) kinds {
	for i := len(c.locals) - 1; i >= 0; i-- {
		if c.locals[i].name == name {
			return c.locals[i].kinds
		}
	}
	if k := c.declared[name]; k != 0 {
		return k
	}
	return isAny
}

func (c *checker) binary(n *ast.BinaryNode) kinds {
	op := binaryKinds[n.Operator]
	a := c.needs(n.Left, op.left, n.Operator)
	b := c.needs(n.Right, op.right, n.Operator)
	switch n.Operator {
	case "??":
		return a&^isNull | b
	case "+", "<", "<=", ">", ">=":
		both := a & b & (isNumber | isText)
		if both == 0 {
			c.errs = append(c.errs, c.e.errorf(n.Location().From, "", "%s takes two numbers or two texts, not %s and %s",
				n.Operator, a.describe(), b.describe()))
			return op.gives
		}
		if n.Operator == "+" {
			return both
		}
	}
	return op.gives
}

func (c *checker) member(n *ast.MemberNode) kinds {
	base := c.node(n.Node)
	key := c.node(n.Property)
	where := (&run{}).describe(n.Node)
	switch at := n.Location().From; {
	case base == isNull:
	case base&(isList|isObject) == 0:
		c.errs = append(c.errs, c.e.errorf(at, "", "%s is %s and has no members", where, base.describe()))
	case base&^isNull == isList && key&isNumber == 0:
		c.errs = append(c.errs, c.e.errorf(at, "write a number, or map("+where+", .key)", "%s is a list; its items are numbered, not named", where))
	case base&^isNull == isObject && key&isText == 0:
		c.errs = append(c.errs, c.e.errorf(at, "", "%s is an object; its keys are text, not %s", where, key.describe()))
	}
	return isAny
}

func (c *checker) call(n ast.Node, args []ast.Node) kinds {
	f := c.e.calls[n]
	got := make([]kinds, len(args))
	for i, a := range args {
		got[i] = c.needs(a, f.argument(i), f.name)
	}
	if f.name == "default" && len(got) == 2 {
		return got[0]&^isNull | got[1]
	}
	return f.gives
}
