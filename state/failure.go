package state

import (
	"context"
	"errors"
)

// Failer is an error that knows how a thread should remember it: the errors of
// hops name code, server and hop through it.
type Failer interface {
	error
	Failure() Failure
}

// FailureOf turns an error into what a thread remembers of it: the first Failer
// in its tree, completed by the whole error's text, else code "error" (for a
// context's end "cancelled" or "deadline").
func FailureOf(err error) Failure {
	var f Failer
	if errors.As(err, &f) {
		r := f.Failure()
		if r.Message == "" {
			r.Message = err.Error()
		}
		return r
	}
	code := "error"
	switch {
	case errors.Is(err, context.Canceled):
		code = "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		code = "deadline"
	}
	return Failure{Code: code, Message: err.Error()}
}
