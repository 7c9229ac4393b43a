package graph

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// errAbandoned unwinds what a run has given up waiting for. It never leaves the
// package.
var errAbandoned = errors.New("abandoned")

// A claim decides between the code of a user that returns and a run that stops
// waiting for it: whoever takes it first.
type claim struct{ state atomic.Int32 }

const (
	claimIdle int32 = iota
	claimInside
	claimAbandoned
)

// enter is called before code of a user runs.
func (c *claim) enter() { c.state.Store(claimInside) }

// leave is called when it has returned; false: nobody waits for it any more.
func (c *claim) leave() bool { return c.state.CompareAndSwap(claimInside, claimIdle) }

// abandon gives up on code that is running; false: none is.
func (c *claim) abandon() bool { return c.state.CompareAndSwap(claimInside, claimAbandoned) }

// unwind is called when a goroutine ends out of order; false: it was given up.
func (c *claim) unwind() bool { return c.leave() || c.state.Load() == claimIdle }

// errGoexit is the failure of a node that ended its goroutine.
var errGoexit = errors.New("it ended its goroutine (runtime.Goexit, or t.FailNow outside of the test's goroutine)")

// protected runs f and turns a panic into its error.
func protected(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return f()
}

// shielded runs a node's function and turns a panic into its error.
func shielded(ctx context.Context, f Func, in Input) (u Update, err error) {
	defer func() {
		if p := recover(); p != nil {
			u, err = Update{}, &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return f(ctx, in)
}

// guarded runs code of a user on the executor's goroutine: its panic is an
// error, and when the run stops waiting for it, errAbandoned unwinds the
// executor.
func (r *run) guarded(f func() error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.guard.enter()
	err := protected(f)
	if !r.guard.leave() {
		return errAbandoned
	}
	return err
}
