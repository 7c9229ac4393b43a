// Package pyreview reviews Python with a parser of its own: faults of syntax,
// and habits that are nearly always mistakes. No Python is needed, and nothing
// of the code runs.
package pyreview

import (
	"context"

	"junction/examples/codereview/pyreview/syntax"
	"junction/examples/codereview/reviewer"
)

// Reviewer parses one file at a time.
type Reviewer struct{}

// New returns a Python reviewer.
func New() *Reviewer { return &Reviewer{} }

// Name implements reviewer.Reviewer.
func (*Reviewer) Name() string { return "python" }

// Languages implements reviewer.Reviewer.
func (*Reviewer) Languages() []string { return []string{reviewer.Python} }

// Close implements reviewer.Reviewer.
func (*Reviewer) Close() error { return nil }

// Review implements reviewer.Reviewer.
func (v *Reviewer) Review(ctx context.Context, r reviewer.Request) (reviewer.Review, error) {
	if err := ctx.Err(); err != nil {
		return reviewer.Review{}, err
	}
	var found []reviewer.Finding
	for _, f := range syntax.Check(r.Code) {
		found = append(found, reviewer.Finding{
			Path: r.Path(), Line: f.Line, Column: f.Column,
			Severity: severity(f.Rule), Rule: f.Rule, Message: f.Message,
		})
	}
	return reviewer.Conclude(v.Name(), reviewer.Within(r.Code, found)), nil
}

func severity(rule string) reviewer.Severity {
	switch rule {
	case syntax.Syntax:
		return reviewer.High
	case syntax.MutableDefault, syntax.CompareLiteral, syntax.AssertTuple, syntax.RaiseNotImpl:
		return reviewer.Medium
	case syntax.TooDeep:
		return reviewer.Info
	}
	return reviewer.Low
}
