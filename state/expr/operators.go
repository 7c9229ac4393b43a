package expr

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

func (r *run) unary(n *ast.UnaryNode) (any, error) {
	if n.Operator == "not" || n.Operator == "!" {
		b, err := r.boolean(n.Node, "what "+n.Operator+" is applied to")
		return !b, err
	}
	v, err := r.node(n.Node)
	if err != nil {
		return nil, err
	}
	if value.Kind(v) != "number" {
		return nil, fail(n, "", "%s needs a number; %s is %s", n.Operator, r.describe(n.Node), article(v))
	}
	if n.Operator == "+" {
		return v, nil
	}
	return arithmetic(n, "-", int64(0), v)
}

func (r *run) binary(n *ast.BinaryNode) (any, error) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return r.logical(n)
	case "??":
		v, err := r.lenient(n.Left)
		if err != nil || v != nil {
			return v, err
		}
		return r.node(n.Right)
	}
	a, err := r.node(n.Left)
	if err != nil {
		return nil, err
	}
	b, err := r.node(n.Right)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "==", "!=":
		same, err := r.equal(a, b)
		return same == (n.Operator == "=="), err
	case "<", "<=", ">", ">=":
		return r.ordered(n, a, b)
	case "in":
		return r.in(n, a, b)
	case "matches", "contains", "startsWith", "endsWith":
		return r.textual(n, a, b)
	case "..":
		return r.series(n, a, b)
	case "+":
		if s, ok := a.(string); ok {
			if t, ok := b.(string); ok {
				return s + t, r.grow(len(s) + len(t))
			}
		}
	}
	if value.Kind(a) != "number" || value.Kind(b) != "number" {
		return nil, r.mismatch(n, a, b)
	}
	return arithmetic(n, n.Operator, a, b)
}

func (r *run) mismatch(n *ast.BinaryNode, a, b any) error {
	hint := ""
	switch {
	case n.Operator == "+" && (value.Kind(a) == "string" || value.Kind(b) == "string"):
		hint = "use string(…) to make text"
	case n.Operator == "+" && value.Kind(a) == "array":
		hint = "use concat(…) to join lists"
	}
	return fail(n, hint, "%s does not take %s (%s) and %s (%s)", n.Operator, article(a), r.describe(n.Left), article(b), r.describe(n.Right))
}

func (r *run) logical(n *ast.BinaryNode) (any, error) {
	what := "what stands beside " + n.Operator
	a, err := r.boolean(n.Left, what)
	if err != nil || a == (n.Operator == "or" || n.Operator == "||") {
		return a, err
	}
	return r.boolean(n.Right, what)
}

// equal compares two values within the budget.
func (r *run) equal(a, b any) (bool, error) {
	if err := r.step(1); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case string:
		t, ok := b.(string)
		return ok && a == t, r.scanned(min(len(a), len(t)))
	case []any:
		l, ok := b.([]any)
		if !ok || len(a) != len(l) {
			return false, nil
		}
		for i := range a {
			if same, err := r.equal(a[i], l[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false, nil
		}
		for k, av := range a {
			bv, ok := m[k]
			if !ok {
				return false, nil
			}
			if same, err := r.equal(av, bv); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	return value.Equal(a, b), nil
}

func (r *run) ordered(n *ast.BinaryNode, a, b any) (any, error) {
	c, ok, err := r.compare(a, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, r.mismatch(n, a, b)
	}
	switch n.Operator {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// compare orders two numbers or two texts.
func (r *run) compare(a, b any) (order int, ok bool, err error) {
	if s, text := a.(string); text {
		t, text := b.(string)
		return strings.Compare(s, t), text, r.scanned(min(len(s), len(t)))
	}
	if value.Kind(a) != "number" || value.Kind(b) != "number" {
		return 0, false, nil
	}
	return compareNumbers(a, b), true, nil
}

func (r *run) in(n *ast.BinaryNode, a, b any) (any, error) {
	switch b := b.(type) {
	case []any:
		for _, e := range b {
			if same, err := r.equal(a, e); err != nil || same {
				return same, err
			}
		}
		return false, nil
	case map[string]any:
		if k, ok := a.(string); ok {
			_, there := b[k]
			return there, nil
		}
	}
	return nil, fail(n, "a key in an object, or an item in a list; for text use contains", "in does not take %s and %s", article(a), article(b))
}

func (r *run) textual(n *ast.BinaryNode, a, b any) (any, error) {
	s, ok := a.(string)
	t, ok2 := b.(string)
	if !ok || !ok2 {
		hint := ""
		if _, list := a.([]any); list {
			hint = "write: item in list"
		}
		return nil, fail(n, hint, "%s compares text with text, not %s with %s", n.Operator, article(a), article(b))
	}
	if err := r.scanned(len(s) + len(t)); err != nil {
		return nil, err
	}
	switch n.Operator {
	case "contains":
		return strings.Contains(s, t), nil
	case "startsWith":
		return strings.HasPrefix(s, t), nil
	case "endsWith":
		return strings.HasSuffix(s, t), nil
	}
	p, err := r.e.pattern(n.Right, t)
	if err != nil {
		return nil, fail(n.Right, "the syntax is RE2's", "%v", err)
	}
	// Matching visits at most every instruction at every byte.
	if err := r.step(p.size + len(s)*p.size>>6); err != nil {
		return nil, err
	}
	return p.re.MatchString(s), nil
}

// series makes the list a..b of whole numbers.
func (r *run) series(n *ast.BinaryNode, a, b any) (any, error) {
	from, ok := a.(int64)
	to, ok2 := b.(int64)
	if !ok || !ok2 {
		return nil, fail(n, "", ".. takes whole numbers, not %s and %s", article(a), article(b))
	}
	if to < from {
		return []any{}, nil
	}
	if d := uint64(to) - uint64(from); d >= MaxSteps {
		return nil, fail(n, "", "the range has more than %d items", MaxSteps)
	}
	size := int(to-from) + 1
	if err := r.step(size); err != nil {
		return nil, err
	}
	if err := r.grow(16 * size); err != nil {
		return nil, err
	}
	out := make([]any, size)
	for i := range out {
		out[i] = from + int64(i)
	}
	return out, nil
}
