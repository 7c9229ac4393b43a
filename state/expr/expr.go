// Package expr evaluates the ${} expressions of workflow files and of offers'
// mappings: bounded, deterministic, over values of package value.
//
// # Templates
//
// A text that is exactly one ${…} has the value of its expression, of whatever
// type. Any other text with ${…} in it stays text: strings are put in as they
// are, everything else as JSON. $${ stands for the two characters ${. Lists and
// objects are templates throughout, except for the keys of objects. What an
// expression gives is a value and is never evaluated again.
//
// # Language
//
// The grammar is that of expr-lang: literals, lists [1, 2], objects {a: 1},
// arithmetic + - * / % **, comparison == != < <= > >=, and or not (&& || !),
// cond ? a : b, if c { a } else { b }, let x = 1; x + 1, in, matches (RE2),
// contains, startsWith, endsWith, ranges 1..3, slices list[1:3], list[-1], the
// pipe x | f(y), and predicates: count(findings, .severity == "high"), in which
// # is the item, .key its key and #index its place. nil is also spelt null.
//
// What differs from expr-lang, and why:
//
//   - A missing key or index is an error that names its path, never a silent
//     null. Optional access is asked for: x?.k, x?.[0], x.k ?? other,
//     default(x.k, other), get(x, "k", other) and has(x, "k"). Each of them takes
//     a missing key, a missing index and null alike, at any step of the path on
//     its left.
//   - Integers are exact 64-bit integers. Overflow, division by zero and mixing
//     an integer beyond 2⁵³ with a fraction are errors. 7 / 2 is 3.5, 6 / 2 is 3.
//   - Conditions are true or false; nothing else counts as either. Numbers
//     compare with numbers and text with text.
//   - Text is counted and cut in characters.
//   - keys, values and toPairs come in sorted order. There is no clock, no
//     chance, no time zone, no environment and no method call.
//   - An evaluation is bounded in steps ([MaxSteps]), in memory ([MaxMemory]) and
//     by its context.
//
// # Functions
//
//	all none any one filter map count sum find findIndex findLast findLastIndex
//	groupBy sortBy reduce                              (list, predicate)
//	len type string int float abs ceil floor round
//	max min mean median sort reverse uniq concat flatten first last take
//	keys values toPairs fromPairs get has default
//	trim trimPrefix trimSuffix upper lower split join replace repeat
//	indexOf lastIndexOf hasPrefix hasSuffix toJSON fromJSON toBase64 fromBase64
//
// first and last of an empty list, and find without a hit, are null.
package expr

import (
	"context"
	"maps"
	"slices"

	"junction/state/value"
)

// Bounds of a template and of one evaluation of it.
const (
	MaxSource = 16 << 10  // bytes of one expression
	MaxNodes  = 1_000     // syntax nodes of one expression
	MaxSteps  = 1_000_000 // nodes evaluated and items visited
	MaxMemory = 64 << 20  // bytes of everything made on the way, roughly
)

// Template is a compiled value with ${} expressions in its strings. It is safe
// for concurrent use.
type Template struct {
	root  part
	names []string
}

// Compile compiles a text. names are the names an expression may use at the top
// level. Its error is Errors, one for each thing that is wrong.
func Compile(text string, names ...string) (*Template, error) { return CompileValue(text, names...) }

// CompileValue compiles every string of a canonical value.
func CompileValue(v any, names ...string) (*Template, error) {
	c := compiler{known: names, used: map[string]bool{}}
	root := c.value(v, "")
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return &Template{root: root, names: slices.Sorted(maps.Keys(c.used))}, nil
}

// Names returns the top-level names the template uses, sorted.
func (t *Template) Names() []string { return slices.Clone(t.names) }

// Constant reports whether the template uses no expression.
func (t *Template) Constant() bool {
	_, ok := t.root.(constant)
	return ok
}

// Eval evaluates the template over vars, canonical values by name. The result is
// canonical and shares no memory with vars. Its error is an *Error, which unwraps to
// ctx's where that ended it.
func (t *Template) Eval(ctx context.Context, vars map[string]any) (any, error) {
	r := &run{ctx: ctx, vars: vars}
	return t.root.eval(r)
}

// part is a piece of a template: a constant, an expression, a text with
// expressions in it, a list or an object.
type part interface {
	eval(r *run) (any, error)
	infer(c *checker) kinds
}

type constant struct{ v any }

func (p constant) eval(*run) (any, error) { return value.Clone(p.v), nil }

func (p constant) infer(*checker) kinds { return kindOf(p.v) }

type list []part

func (p list) eval(r *run) (any, error) {
	out := make([]any, len(p))
	for i, e := range p {
		v, err := e.eval(r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (p list) infer(c *checker) kinds {
	for _, e := range p {
		e.infer(c)
	}
	return isList
}

type object struct {
	keys  []string // sorted, so that of several errors always the same is told
	parts []part
}

func (p object) eval(r *run) (any, error) {
	out := make(map[string]any, len(p.keys))
	for i, k := range p.keys {
		v, err := p.parts[i].eval(r)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

func (p object) infer(c *checker) kinds {
	for _, e := range p.parts {
		e.infer(c)
	}
	return isObject
}
