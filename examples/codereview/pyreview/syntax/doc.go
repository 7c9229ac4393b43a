// Package syntax checks Python 3 for faults of syntax and for a few habits that
// are nearly always mistakes.
//
// It accepts the union of what Python 3.6 to 3.14 accept, since a file does not
// say which version it is for: formatted strings with anything in them,
// assignment expressions, match, type parameters, except with and without
// brackets and templates. Where a choice had to be made it is on the side of
// silence: a sound program never has a fault, a wrong one may go unnoticed.
package syntax

import "fmt"

// Fault is something wrong at a place.
type Fault struct {
	Line, Column int    // from 1; the column is in bytes
	Rule         string // "syntax", or the habit's name
	Message      string
}

func (f Fault) Error() string { return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Message) }

// Rules that Check reports.
const (
	Syntax         = "syntax"
	TooDeep        = "too-deep" // nested too deeply to be checked, which is no fault
	MutableDefault = "mutable-default"
	BareExcept     = "bare-except"
	CompareNone    = "compare-none"
	CompareLiteral = "compare-literal"
	EmptyFString   = "f-string-without-placeholder"
	AssertTuple    = "assert-tuple"
	RaiseNotImpl   = "raise-not-implemented"
)

const (
	maxDepth       = 1000 // of expressions and blocks, each inside of the next
	maxStringDepth = 50   // of formatted strings, each inside of the next
	tabWidth       = 8
)

// Check returns the first fault of syntax, if there is one, and else the habits
// that were found, by place.
func Check(source string) []Fault {
	tokens, scanned := scan(source)
	p := &parser{tokens: tokens}
	parsed := p.file()
	switch {
	case scanned != nil && (parsed == nil || !parsed.before(scanned)):
		return []Fault{*scanned} // the parser, if anything, has missed what is not there
	case parsed != nil:
		return []Fault{*parsed}
	}
	return p.notes
}

func (f *Fault) before(g *Fault) bool {
	return f.Line < g.Line || f.Line == g.Line && f.Column < g.Column
}
