package expr

import (
	"strings"
	"unicode/utf8"
)

// Error is one thing that is wrong with an expression, when it is compiled or
// when it is evaluated. It holds no value, only names, keys and types.
type Error struct {
	Path    string // of the string within the compiled value, such as with.code
	Offset  int    // in bytes within that string
	Source  string // the expression, without ${ and }
	Message string
	Hint    string // what to try
	Err     error  // the cause, where there is one: ctx's error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	if e.Source != "" {
		b.WriteString("in ${" + brief(e.Source) + "}: ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors are all errors of a template.
type Errors []*Error

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each of the errors.
func (es Errors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= 60 {
		return s
	}
	return string([]rune(s)[:59]) + "…"
}
