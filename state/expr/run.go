package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

// expression is one ${…}.
type expression struct {
	source    string
	path      string
	offset    int // of source in its string, in bytes
	root      ast.Node
	patterns  map[*ast.StringNode]pattern
	fractions map[*ast.FloatNode]any // exact values of literals
	calls     map[ast.Node]call
}

// run is one evaluation of a template. Its budget is that of the whole.
type run struct {
	ctx    context.Context
	vars   map[string]any
	steps  int
	memory int

	e      *expression
	scopes []*scope
	locals []local
}

// scope is a list being walked by a predicate.
type scope struct {
	of    ast.Node // the list, for messages
	items []any
	index int
	acc   any
}

type local struct {
	name string
	v    any
}

// evalError is an error at a place of the expression under evaluation.
type evalError struct {
	at      int // in characters
	msg     string
	hint    string
	missing bool // a key or an index that is not there, or null on the way to it
	cause   error
}

func (f *evalError) Error() string { return f.msg }

func fail(n ast.Node, hint, format string, args ...any) error {
	return &evalError{at: n.Location().From, msg: fmt.Sprintf(format, args...), hint: hint}
}

// eval evaluates the expression and copies its result, within the budget.
func (e *expression) eval(r *run) (any, error) {
	r.e, r.scopes, r.locals = e, nil, nil
	v, err := r.node(e.root)
	if err == nil {
		v, err = r.copy(v, 0)
	}
	if err == nil {
		return v, nil
	}
	var f *evalError
	if !errors.As(err, &f) {
		f = &evalError{msg: err.Error(), cause: err}
	}
	out := e.errorf(f.at, f.hint, "%s", f.msg)
	out.Err = f.cause
	return nil, out
}

// mixed is a text with expressions in it.
type mixed []part

func (p mixed) eval(r *run) (any, error) {
	var b strings.Builder
	for _, e := range p {
		v, err := e.eval(r)
		if err != nil {
			return nil, err
		}
		s, ok := v.(string)
		if !ok {
			data, err := value.Encode(v)
			if err != nil {
				return nil, err
			}
			s = string(data)
		}
		if x, ok := e.(*expression); ok {
			if err := r.grow(len(s)); err != nil {
				return nil, x.errorf(0, "", "%s", err)
			}
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (p mixed) infer(c *checker) kinds {
	for _, e := range p {
		e.infer(c)
	}
	return isText
}

// step spends n steps and looks at the context every thousand or so.
func (r *run) step(n int) error {
	before := r.steps >> 10
	r.steps += n
	if r.steps > MaxSteps {
		return fmt.Errorf("it takes more than %d steps", MaxSteps)
	}
	if r.steps>>10 != before || r.steps == n {
		return r.ctx.Err()
	}
	return nil
}

// scanned spends steps for looking at n bytes.
func (r *run) scanned(n int) error { return r.step(n >> 8) }

// grow spends n bytes.
func (r *run) grow(n int) error {
	r.memory += n
	if n < 0 || r.memory > MaxMemory {
		return fmt.Errorf("it takes more than %d MiB of memory", MaxMemory>>20)
	}
	return nil
}

// copy makes a result canonical and independent. It bounds what sharing inside
// an expression, as in let a = [b, b], multiplies.
func (r *run) copy(v any, depth int) (any, error) {
	if err := r.step(1); err != nil {
		return nil, err
	}
	if depth > value.MaxDepth {
		return nil, fmt.Errorf("the result is nested more than %d deep", value.MaxDepth)
	}
	switch v := v.(type) {
	case []any:
		if err := r.grow(16 * len(v)); err != nil {
			return nil, err
		}
		out := make([]any, len(v))
		for i, e := range v {
			c, err := r.copy(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return out, nil
	case map[string]any:
		if err := r.grow(48 * len(v)); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			c, err := r.copy(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = c
		}
		return out, nil
	case string:
		return v, r.grow(len(v)) // shared, but written out sooner or later
	}
	return v, nil
}
