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

// Coded is an error with a code of its own, such as the router's; it may name
// its server and hop with methods Server and Hop.
type Coded interface {
	error
	Code() string
}

// FailureOf turns an error into what a thread remembers of it: the first Failer
// in its tree, completed by the whole error's text; else the first Coded; else
// code "error" (for a context's end "cancelled" or "deadline").
func FailureOf(err error) Failure {
	var f Failer
	if errors.As(err, &f) {
		r := f.Failure()
		if r.Message == "" {
			r.Message = err.Error()
		}
		return r
	}
	var c Coded
	if errors.As(err, &c) {
		r := Failure{Code: c.Code(), Message: err.Error()}
		if s, ok := c.(interface{ Server() string }); ok {
			r.Server = s.Server()
		}
		if h, ok := c.(interface{ Hop() string }); ok {
			r.Hop = h.Hop()
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
