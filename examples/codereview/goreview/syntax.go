package goreview

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"

	"junction/examples/codereview/reviewer"
)

// syntax returns the faults of syntax of one file.
func syntax(name, code string) []reviewer.Finding {
	_, err := parser.ParseFile(token.NewFileSet(), name, code, parser.SkipObjectResolution)
	if err == nil {
		return nil
	}
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return []reviewer.Finding{{Severity: reviewer.High, Rule: "syntax", Message: err.Error()}}
	}
	list.RemoveMultiples()
	var found []reviewer.Finding
	for _, e := range list {
		found = append(found, reviewer.Finding{
			Line: e.Pos.Line, Column: e.Pos.Column, Severity: reviewer.High, Rule: "syntax", Message: e.Msg,
		})
	}
	return found
}
