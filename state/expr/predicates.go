package expr

import (
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"
)

func all(r *run, w walk) (any, error) {
	n, err := w.hits(r, -1)
	return n == len(w.items), err
}

func none(r *run, w walk) (any, error) {
	n, err := w.hits(r, 1)
	return n == 0, err
}

func anyOf(r *run, w walk) (any, error) {
	n, err := w.hits(r, 1)
	return n > 0, err
}

func one(r *run, w walk) (any, error) {
	n, err := w.hits(r, 2)
	return n == 1, err
}

func count(r *run, w walk) (any, error) {
	n, err := w.hits(r, -1)
	return int64(n), err
}

// hits counts the items for which the predicate is true, up to limit.
func (w walk) hits(r *run, limit int) (n int, err error) {
	err = w.where(r, false, func(int) (bool, error) {
		n++
		return n == limit, nil
	})
	return n, err
}

func filter(r *run, w walk) (any, error) {
	out := []any{}
	err := w.where(r, false, func(i int) (bool, error) {
		out = append(out, w.items[i])
		return false, r.grow(16)
	})
	return out, err
}

func mapped(r *run, w walk) (any, error) {
	if err := r.grow(16 * len(w.items)); err != nil {
		return nil, err
	}
	out := make([]any, len(w.items))
	err := w.over(r, false, func(i int, v any) (bool, error) {
		out[i] = v
		return false, nil
	})
	return out, err
}

func sum(r *run, w walk) (any, error) {
	var total any = int64(0)
	err := w.over(r, false, func(i int, v any) (bool, error) {
		if kindOf(v) != isNumber {
			return true, fail(w.n, "", "sum takes numbers; item %d gives %s", i, article(v))
		}
		var err error
		total, err = arithmetic(w.n, "+", total, v)
		return err != nil, err
	})
	return total, err
}

func find(r *run, w walk) (any, error)          { return w.search(r, false, true) }
func findLast(r *run, w walk) (any, error)      { return w.search(r, true, true) }
func findIndex(r *run, w walk) (any, error)     { return w.search(r, false, false) }
func findLastIndex(r *run, w walk) (any, error) { return w.search(r, true, false) }

func (w walk) search(r *run, backwards, item bool) (found any, err error) {
	err = w.where(r, backwards, func(i int) (bool, error) {
		if found = int64(i); item {
			found = w.items[i]
		}
		return true, nil
	})
	return found, err
}

func groupBy(r *run, w walk) (any, error) {
	groups := map[string]any{}
	err := w.over(r, false, func(i int, v any) (bool, error) {
		var key string
		switch v := v.(type) {
		case string:
			key = v
		case bool:
			key = strconv.FormatBool(v)
		case int64:
			key = strconv.FormatInt(v, 10)
		default:
			return true, fail(w.n, "use string(…)", "groupBy needs text as the key; item %d gives %s", i, article(v))
		}
		list, _ := groups[key].([]any)
		groups[key] = append(list, w.items[i])
		return false, r.grow(64)
	})
	return groups, err
}

func sortBy(r *run, w walk) (any, error) {
	order := "asc"
	if len(w.args) > 2 {
		v, err := r.node(w.args[2])
		if err != nil {
			return nil, err
		}
		if order, err = choice(w.args[2], []any{v}, 0, "asc", "desc"); err != nil {
			return nil, err
		}
	}
	by := make([]any, len(w.items))
	if err := w.over(r, false, func(i int, v any) (bool, error) {
		by[i] = v
		return false, r.grow(48)
	}); err != nil {
		return nil, err
	}
	return arranged(r, w.n, w.items, by, order == "desc")
}

// arranged sorts items by the values of by, stably.
func arranged(r *run, n ast.Node, items, by []any, desc bool) (any, error) {
	if err := r.grow(24 * len(items)); err != nil {
		return nil, err
	}
	at := make([]int, len(items))
	for i := range at {
		at[i] = i
	}
	var failed error
	slices.SortStableFunc(at, func(a, b int) int {
		if failed != nil {
			return 0
		}
		if failed = r.step(1); failed != nil {
			return 0
		}
		c, ok, err := r.compare(by[a], by[b])
		if failed = err; err == nil && !ok {
			failed = fail(n, "", "%s and %s cannot be sorted with each other", article(by[a]), article(by[b]))
		}
		if desc {
			return -c
		}
		return c
	})
	if failed != nil {
		return nil, failed
	}
	out := make([]any, len(items))
	for i, j := range at {
		out[i] = items[j]
	}
	return out, nil
}

// reduce folds a list; without a start the first item is it.
func reduce(r *run, w walk) (any, error) {
	s := &scope{of: w.args[0], items: w.items}
	begin := 0
	if len(w.args) > 2 {
		v, err := r.node(w.args[2])
		if err != nil {
			return nil, err
		}
		s.acc = v
	} else {
		if len(w.items) == 0 {
			return nil, fail(w.n, "give a start as the third argument", "reduce of an empty list has no value")
		}
		s.acc, begin = w.items[0], 1
	}
	for i := begin; i < len(w.items); i++ {
		s.index = i
		v, err := w.at(r, s)
		if err != nil {
			return nil, err
		}
		s.acc = v
	}
	return s.acc, nil
}
