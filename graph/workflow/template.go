package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"junction/graph"
	"junction/state"
	"junction/state/document"
	"junction/state/expr"
)

// template is a value of the file with expressions in it. A nil one is absent.
type template struct {
	tpl   *expr.Template
	names []string // that it uses
	at    *document.Node
	file  string
	typ   string // guessed, in the words of package expr
}

// scope is what expressions may name besides the state.
type scope struct {
	bound map[string]string // types by name
}

func (s scope) with(name, typ string) scope {
	bound := map[string]string{name: typ}
	for k, v := range s.bound {
		bound[k] = v
	}
	return scope{bound}
}

// template compiles a node of the file and reports what is wrong with its
// expressions, each at its place. want are the types it may have; none is any.
func (p *parser) template(n *document.Node, s scope, want ...string) *template {
	if n == nil {
		return nil
	}
	names, types := p.visible(s)
	tpl, err := expr.CompileValue(n.Value(), names...)
	if err != nil {
		p.report(n, err)
		p.leaves(n, names, types)
		return nil
	}
	t := &template{tpl: tpl, names: tpl.Names(), at: n, file: p.doc.File}
	var errs expr.Errors
	if t.typ, errs = tpl.Check(types); len(errs) > 0 {
		p.report(n, errs)
		return nil
	}
	if len(want) == 0 || t.typ == "any" || slices.Contains(want, t.typ) {
		return t
	}
	n.Fault(wrongTypeHint(t.typ, want[0]), "a value of type %s is expected here, not %s", want[0], t.typ)
	return nil
}

// visible lists what expressions may name, with the types that are known.
func (p *parser) visible(s scope) ([]string, map[string]string) {
	names, types := slices.Clone(p.channels), maps.Clone(p.types)
	for k, v := range s.bound {
		names = append(names, k)
		types[k] = v
	}
	return names, types
}

// leaves checks the texts in n one by one, so that a mistake in one of them does
// not hide the types that cannot fit in another.
func (p *parser) leaves(n *document.Node, names []string, types map[string]string) {
	switch n.Kind {
	case document.Text:
		if tpl, err := expr.Compile(n.Text(), names...); err == nil {
			_, errs := tpl.Check(types)
			p.report(n, errs)
		}
	case document.List:
		for _, item := range n.List() {
			p.leaves(item, names, types)
		}
	case document.Map:
		for _, e := range n.Mapping().Entries() {
			p.leaves(e.Node, names, types)
		}
	}
}

// wrongTypeHint explains the commonest cause of text where something else is
// wanted.
func wrongTypeHint(got, want string) string {
	if got == "string" && want != "string" {
		return "only a text that is exactly one ${…} has another type than string"
	}
	return ""
}

// report records the errors of a compiled value where they stand.
func (p *parser) report(n *document.Node, err error) {
	var errs expr.Errors
	if !errors.As(err, &errs) {
		n.Fault("", "%v", err)
		return
	}
	for _, e := range errs {
		at, hint := n.At(e.Path), e.Hint
		if e.Source == "" && at.Cut() { // the ${ has no }
			hint = "put quotes around it: # begins a comment in YAML"
		}
		at.FaultAt(e.Offset, hint, "%s", e.Message)
	}
}

// static is the text of a template without expressions, else "".
func (t *template) static() string {
	if t == nil || !t.tpl.Constant() {
		return ""
	}
	s, _ := t.at.Value().(string)
	return s
}

// exactly reports whether the template is just the value of one name.
func (t *template) exactly(name string) bool {
	s, ok := t.at.Value().(string)
	return ok && (s == "${"+name+"}" || s == "${ "+name+" }")
}

// env is what a task's expressions see.
type env struct {
	view  graph.View
	bound map[string]any
}

func (e env) with(name string, v any) env {
	bound := map[string]any{name: v}
	for k, old := range e.bound {
		bound[k] = old
	}
	return env{e.view, bound}
}

// eval evaluates the template; nil gives nil. A channel that has no value yet is
// null.
func (t *template) eval(ctx context.Context, e env) (any, error) {
	if t == nil {
		return nil, nil
	}
	vars := make(map[string]any, len(t.names))
	for _, name := range t.names {
		v, ok := e.bound[name]
		if !ok {
			v, _ = e.view.Get(name)
		}
		vars[name] = v
	}
	v, err := t.tpl.Eval(ctx, vars)
	if err != nil {
		return nil, t.failed(err)
	}
	return v, nil
}

// text evaluates a template that must give text; "" for nil.
func (t *template) text(ctx context.Context, e env) (string, error) {
	v, err := t.eval(ctx, e)
	if err != nil || t == nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok || s == "" {
		return "", t.failed(fmt.Errorf("text that is not empty is needed here, not %s", kind(v)))
	}
	return s, nil
}

// object evaluates a template that must give an object; nil for nil.
func (t *template) object(ctx context.Context, e env) (map[string]any, error) {
	v, err := t.eval(ctx, e)
	if err != nil || t == nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, t.failed(fmt.Errorf("an object is needed here, not %s", kind(v)))
	}
	return m, nil
}

// truth evaluates a condition.
func (t *template) truth(ctx context.Context, e env) (bool, error) {
	v, err := t.eval(ctx, e)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, t.failed(fmt.Errorf("the condition must be true or false, not %s", kind(v)))
	}
	return b, nil
}

// EvalError is an expression that failed when it was evaluated, or a value that
// does not fit where it was to go.
type EvalError struct {
	File         string
	Line, Column int
	Path         string // such as nodes.review.write.findings
	Err          error
}

func (e *EvalError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s: %v", e.File, e.Line, e.Column, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *EvalError) Unwrap() error { return e.Err }

// Failure gives the error its code; the end of a context keeps its own.
func (e *EvalError) Failure() state.Failure {
	f := state.FailureOf(e.Err)
	if f.Code == "error" {
		f.Code = "expression"
	}
	f.Message = e.Error()
	return f
}

// failed says where in the file an evaluation failed.
func (t *template) failed(err error) error {
	out := &EvalError{File: t.file, Line: t.at.Line, Column: t.at.Column, Path: t.at.Path, Err: err}
	var e *expr.Error
	if errors.As(err, &e) {
		at := t.at.At(e.Path)
		out.Path = at.Path
		out.Line, out.Column = at.Position(e.Offset)
		bare := *e
		bare.Path = ""
		out.Err = &bare
	}
	return out
}
