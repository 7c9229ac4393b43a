package view

import (
	"errors"
	"strings"

	"junction/graph"
	"junction/router"
	"junction/state/document"
)

// Validation is what validate prints with --json.
type Validation struct {
	File     string           `json:"file"`
	Valid    bool             `json:"valid"`
	Faults   []document.Fault `json:"faults"`
	Warnings []document.Fault `json:"warnings,omitempty"`
}

// NewValidation takes the faults out of err, which may join those of several
// files.
func NewValidation(file string, err error, warnings []document.Fault) Validation {
	v := Validation{File: file, Valid: err == nil, Faults: []document.Fault{}, Warnings: warnings}
	v.collect(file, err)
	return v
}

func (v *Validation) collect(file string, err error) {
	if err == nil {
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			v.collect(file, e)
		}
		return
	}
	var faults document.Faults
	var spec *graph.SpecError
	switch {
	case errors.As(err, &faults):
		v.Faults = append(v.Faults, faults...)
	case errors.As(err, &spec):
		for _, f := range spec.Faults {
			v.Faults = append(v.Faults, document.Fault{File: file, Path: f.Place, Message: f.Message})
		}
	default:
		v.Faults = append(v.Faults, document.Fault{File: file, Message: err.Error()})
	}
}

// errorText is an error with the last words of a server that did not start.
func errorText(err error) string {
	var call *router.CallError
	if errors.As(err, &call) && len(call.Stderr) > 0 {
		return err.Error() + "\nits last words:\n  " + strings.Join(call.Stderr, "\n  ")
	}
	return err.Error()
}
