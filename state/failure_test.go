package state_test

import (
	"context"
	"fmt"
	"testing"

	"junction/state"
)

type codedError struct{ code string }

func (e codedError) Error() string  { return "it said " + e.code }
func (e codedError) Code() string   { return e.code }
func (e codedError) Server() string { return "srv" }
func (e codedError) Hop() string    { return "hop" }

type failer struct{}

func (failer) Error() string          { return "failer" }
func (failer) Failure() state.Failure { return state.Failure{Code: "own", Node: "n"} }

func TestFailureOf(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want state.Failure
	}{
		{"a coded error names code, server and hop", fmt.Errorf("wrapped: %w", codedError{"no_candidate"}),
			state.Failure{Code: "no_candidate", Message: "wrapped: it said no_candidate", Server: "srv", Hop: "hop"}},
		{"a failer goes before a code", fmt.Errorf("%w and %w", failer{}, codedError{"x"}),
			state.Failure{Code: "own", Node: "n", Message: "failer and it said x"}},
		{"a cancelled context", fmt.Errorf("run: %w", context.Canceled), state.Failure{Code: "cancelled", Message: "run: context canceled"}},
		{"a deadline", context.DeadlineExceeded, state.Failure{Code: "deadline", Message: "context deadline exceeded"}},
		{"anything else", fmt.Errorf("plain"), state.Failure{Code: "error", Message: "plain"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := state.FailureOf(c.err); got != c.want {
				t.Errorf("FailureOf = %+v, want %+v", got, c.want)
			}
		})
	}
}
