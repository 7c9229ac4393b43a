package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

// toNumber reads a number, which may be written as text.
func toNumber(r *run, n ast.Node, args []any) (any, error) {
	s, ok := args[0].(string)
	if !ok {
		return args[0], nil
	}
	if err := r.scanned(len(s)); err != nil {
		return nil, err
	}
	v, err := value.Parse([]byte(strings.TrimSpace(s)))
	if err != nil || kindOf(v) != isNumber {
		return nil, fail(n, "", "the text is not a number")
	}
	return v, nil
}

// toInt cuts a number off towards zero.
func toInt(r *run, n ast.Node, args []any) (any, error) {
	v, err := toNumber(r, n, args)
	if err != nil {
		return nil, err
	}
	return rounded(n, v, math.Trunc)
}

func ceil(_ *run, n ast.Node, args []any) (any, error)  { return rounded(n, args[0], math.Ceil) }
func floor(_ *run, n ast.Node, args []any) (any, error) { return rounded(n, args[0], math.Floor) }

// round goes to the nearest integer, halves away from zero.
func round(_ *run, n ast.Node, args []any) (any, error) { return rounded(n, args[0], math.Round) }

func rounded(n ast.Node, v any, f func(float64) float64) (any, error) {
	x, ok := v.(float64)
	if !ok {
		return v, nil
	}
	return canonical(n, f(x))
}

func abs(_ *run, n ast.Node, args []any) (any, error) {
	if compareNumbers(args[0], int64(0)) < 0 {
		return arithmetic(n, "-", int64(0), args[0])
	}
	return args[0], nil
}

// numbers takes numbers and lists of numbers together; at least one is needed.
func (r *run) numbers(n ast.Node, args []any) ([]any, error) {
	var all []any
	for _, a := range args {
		l, ok := a.([]any)
		if !ok {
			l = []any{a}
		}
		if err := r.made(len(l)); err != nil {
			return nil, err
		}
		for i, e := range l {
			if kindOf(e) != isNumber {
				return nil, fail(n, "", "%s takes numbers; item %d is %s", r.e.calls[n].name, i, article(e))
			}
		}
		all = append(all, l...)
	}
	if len(all) == 0 {
		return nil, fail(n, "check len(…) first", "%s of nothing has no value", r.e.calls[n].name)
	}
	return all, nil
}

func largest(r *run, n ast.Node, args []any) (any, error) {
	all, err := r.numbers(n, args)
	if err != nil {
		return nil, err
	}
	return slices.MaxFunc(all, compareNumbers), nil
}

func smallest(r *run, n ast.Node, args []any) (any, error) {
	all, err := r.numbers(n, args)
	if err != nil {
		return nil, err
	}
	return slices.MinFunc(all, compareNumbers), nil
}

func mean(r *run, n ast.Node, args []any) (any, error) {
	all, err := r.numbers(n, args)
	if err != nil {
		return nil, err
	}
	var total any = int64(0)
	for _, v := range all {
		if total, err = arithmetic(n, "+", total, v); err != nil {
			return nil, err
		}
	}
	return arithmetic(n, "/", total, int64(len(all)))
}

func median(r *run, n ast.Node, args []any) (any, error) {
	all, err := r.numbers(n, args)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	slices.SortFunc(all, compareNumbers)
	mid := len(all) / 2
	if len(all)%2 == 1 {
		return all[mid], nil
	}
	total, err := arithmetic(n, "+", all[mid-1], all[mid])
	if err != nil {
		return nil, err
	}
	return arithmetic(n, "/", total, int64(2))
}
