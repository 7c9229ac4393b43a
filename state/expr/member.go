package expr

import (
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"

	"junction/state/document"
)

// member evaluates x.k, x[k] and chains with ?. in them.
func (r *run) member(n ast.Node) (any, error) { return r.reach(n, false) }

// lenient evaluates a node whose value may be missing: null stands for it.
func (r *run) lenient(n ast.Node) (any, error) { return r.reach(n, true) }

func (r *run) reach(n ast.Node, optional bool) (any, error) {
	v, missing, err := r.path(n, optional)
	if missing {
		return nil, nil
	}
	return v, err
}

// path follows a path of members. Where optional is set, or up to the key behind
// a ?., what is not there is reported as missing. Only the path's own steps can
// be missing: an index that fails to evaluate, or a call at the path's beginning,
// is an error.
func (r *run) path(n ast.Node, optional bool) (v any, missing bool, err error) {
	switch n := n.(type) {
	case *ast.ChainNode:
		return r.path(n.Node, optional)
	case *ast.MemberNode:
		base, gone, err := r.path(n.Node, optional || n.Optional)
		if err != nil {
			return nil, gone, err
		}
		if err := r.step(1); err != nil {
			return nil, false, err
		}
		key, err := r.node(n.Property)
		if err != nil {
			return nil, false, err
		}
		v, err := r.lookup(n, base, key)
		var f *evalError
		if errors.As(err, &f) && f.missing {
			return nil, optional || n.Optional, err
		}
		return v, false, err
	}
	v, err = r.node(n)
	return v, false, err
}

// lookup returns one member of a list or an object.
func (r *run) lookup(n *ast.MemberNode, base, key any) (any, error) {
	at := n.Location().From
	switch b := base.(type) {
	case nil:
		return nil, &evalError{at: at, missing: true, msg: r.describe(n.Node) + " is null and has no members",
			hint: "use ?. or ?? where it may be absent"}
	case map[string]any:
		k, ok := key.(string)
		if !ok {
			return nil, fail(n, "", "%s is an object; its keys are text, not %s", r.describe(n.Node), article(key))
		}
		v, ok := b[k]
		if !ok {
			return nil, &evalError{at: at, missing: true, msg: r.describe(n.Node) + " has no key " + strconv.Quote(brief(k)), hint: keyHint(k, b)}
		}
		return v, nil
	case []any:
		i, ok := key.(int64)
		if !ok {
			return nil, fail(n, "", "%s is a list; its items are numbered, not named", r.describe(n.Node))
		}
		size := int64(len(b))
		if i < 0 {
			i += size
		}
		if i < 0 || i >= size {
			return nil, &evalError{at: at, missing: true, msg: r.describe(n) + " is beyond the list, which has " + plural(len(b), "item"),
				hint: "use ?? where it may be absent"}
		}
		return b[i], nil
	}
	return nil, fail(n, "", "%s is %s and has no members", r.describe(n.Node), article(base))
}

// keyHint suggests one of m's keys, which may come from anywhere: long ones and
// those that would garble a terminal are left out.
func keyHint(k string, m map[string]any) string {
	const optional = "use ?. or ?? where it may be absent"
	if len(m) == 0 {
		return "it has no keys at all; " + optional
	}
	var keys []string
	if len(m) <= 100 {
		for key := range m {
			if len(key) <= 40 && strings.IndexFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
				keys = append(keys, key)
			}
		}
	}
	if s := document.Hint(k, keys); s != "" {
		return s + "; " + optional
	}
	return optional
}

// slice evaluates x[from:to] for lists and, by characters, for text.
func (r *run) slice(n *ast.SliceNode) (any, error) {
	v, err := r.node(n.Node)
	if err != nil {
		return nil, err
	}
	var runes []rune
	var size int
	switch v := v.(type) {
	case []any:
		size = len(v)
	case string:
		if err := r.grow(4 * len(v)); err != nil {
			return nil, err
		}
		if err := r.scanned(len(v)); err != nil {
			return nil, err
		}
		runes = []rune(v)
		size = len(runes)
	default:
		return nil, fail(n, "", "%s is %s and cannot be cut", r.describe(n.Node), article(v))
	}
	from, err := r.bound(n.From, 0, size)
	if err != nil {
		return nil, err
	}
	to, err := r.bound(n.To, size, size)
	if err != nil {
		return nil, err
	}
	to = max(from, to)
	if list, ok := v.([]any); ok {
		return list[from:to:to], nil
	}
	return string(runes[from:to]), nil
}

// bound evaluates one end of a slice; beyond the ends it is the end.
func (r *run) bound(n ast.Node, otherwise, size int) (int, error) {
	if n == nil {
		return otherwise, nil
	}
	i, err := r.integer(n)
	if err != nil {
		return 0, err
	}
	if i < 0 {
		i += int64(size)
	}
	return int(min(max(i, 0), int64(size))), nil
}
