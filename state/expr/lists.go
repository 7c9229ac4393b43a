package expr

import (
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

func length(r *run, _ ast.Node, args []any) (any, error) {
	switch v := args[0].(type) {
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return runes(r, args[0].(string))
}

func first(_ *run, _ ast.Node, args []any) (any, error) {
	if l := args[0].([]any); len(l) > 0 {
		return l[0], nil
	}
	return nil, nil
}

func last(_ *run, _ ast.Node, args []any) (any, error) {
	if l := args[0].([]any); len(l) > 0 {
		return l[len(l)-1], nil
	}
	return nil, nil
}

func take(_ *run, n ast.Node, args []any) (any, error) {
	l := args[0].([]any)
	size, ok := args[1].(int64)
	if !ok || size < 0 {
		return nil, fail(n, "", "take needs a whole number from 0")
	}
	size = min(size, int64(len(l)))
	return l[:size:size], nil
}

// made spends the budget for a list of n items.
func (r *run) made(n int) error {
	if err := r.step(n); err != nil {
		return err
	}
	return r.grow(16 * n)
}

func reverse(r *run, _ ast.Node, args []any) (any, error) {
	l := args[0].([]any)
	if err := r.made(len(l)); err != nil {
		return nil, err
	}
	out := slices.Clone(l)
	slices.Reverse(out)
	return out, nil
}

func sorted(r *run, n ast.Node, args []any) (any, error) {
	l := args[0].([]any)
	order, err := choice(n, args, 1, "asc", "desc")
	if err != nil {
		return nil, err
	}
	return arranged(r, n, l, l, order == "desc")
}

// uniq keeps the first of equal items.
func uniq(r *run, _ ast.Node, args []any) (any, error) {
	seen := map[string]bool{}
	out := []any{}
	for _, e := range args[0].([]any) {
		c, err := r.copy(e, 0) // bounds what is encoded next
		if err != nil {
			return nil, err
		}
		key, err := value.Encode(c)
		if err != nil {
			return nil, err
		}
		if err := r.grow(len(key) + 32); err != nil {
			return nil, err
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, e)
		}
	}
	return out, nil
}

func concat(r *run, _ ast.Node, args []any) (any, error) {
	size := 0
	for _, a := range args {
		size += len(a.([]any))
	}
	if err := r.made(size); err != nil {
		return nil, err
	}
	out := make([]any, 0, size)
	for _, a := range args {
		out = append(out, a.([]any)...)
	}
	return out, nil
}

// flatten puts the items of lists within the list, at any depth, in their place.
func flatten(r *run, _ ast.Node, args []any) (any, error) {
	out := []any{}
	var add func(l []any, depth int) error
	add = func(l []any, depth int) error {
		if err := r.made(len(l)); err != nil {
			return err
		}
		for _, e := range l {
			if inner, ok := e.([]any); ok && depth < value.MaxDepth {
				if err := add(inner, depth+1); err != nil {
					return err
				}
				continue
			}
			out = append(out, e)
		}
		return nil
	}
	err := add(args[0].([]any), 0)
	return out, err
}

func (r *run) sortedKeys(v any) ([]string, error) {
	m := v.(map[string]any)
	if err := r.made(2 * len(m)); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(m)), nil
}

func keys(r *run, _ ast.Node, args []any) (any, error) {
	ks, err := r.sortedKeys(args[0])
	out := make([]any, len(ks))
	for i, k := range ks {
		out[i] = k
	}
	return out, err
}

func values(r *run, _ ast.Node, args []any) (any, error) {
	ks, err := r.sortedKeys(args[0])
	out := make([]any, len(ks))
	for i, k := range ks {
		out[i] = args[0].(map[string]any)[k]
	}
	return out, err
}

func toPairs(r *run, _ ast.Node, args []any) (any, error) {
	ks, err := r.sortedKeys(args[0])
	out := make([]any, len(ks))
	for i, k := range ks {
		out[i] = []any{k, args[0].(map[string]any)[k]}
	}
	return out, err
}

func fromPairs(r *run, n ast.Node, args []any) (any, error) {
	l := args[0].([]any)
	if err := r.made(3 * len(l)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(l))
	for i, e := range l {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			return nil, fail(n, "", "fromPairs takes lists of two; item %d is none", i)
		}
		k, ok := pair[0].(string)
		if !ok {
			return nil, fail(n, "use string(…)", "a key must be text; that of item %d is %s", i, article(pair[0]))
		}
		out[k] = pair[1]
	}
	return out, nil
}

func has(_ *run, n ast.Node, args []any) (any, error) {
	_, ok, err := within(n, args)
	return ok, err
}

func get(_ *run, n ast.Node, args []any) (any, error) {
	v, ok, err := within(n, args)
	if !ok && len(args) == 3 {
		v = args[2]
	}
	return v, err
}

// within looks for a key or an index without failing where it is absent.
func within(n ast.Node, args []any) (any, bool, error) {
	switch c := args[0].(type) {
	case nil:
		return nil, false, nil
	case map[string]any:
		if k, ok := args[1].(string); ok {
			v, there := c[k]
			return v, there, nil
		}
	case []any:
		if i, ok := args[1].(int64); ok {
			if i < 0 {
				i += int64(len(c))
			}
			if i < 0 || i >= int64(len(c)) {
				return nil, false, nil
			}
			return c[i], true, nil
		}
	}
	return nil, false, fail(n, "", "%s has no members by %s", article(args[0]), article(args[1]))
}

// otherwise is default(x, d): d where x is missing or null.
func otherwise(_ *run, _ ast.Node, args []any) (any, error) {
	if args[0] == nil {
		return args[1], nil
	}
	return args[0], nil
}
