package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

type drainKey struct{}

// drain is the wish to stop, as the verb that runs learns of it.
type drain struct {
	asked chan struct{} // closed by the first signal
	quiet atomic.Bool   // the verb ends at once or says itself what it still does
}

// errInterrupted is why a run was cut off, as its thread records it.
var errInterrupted = errors.New("it was interrupted twice")

// withSignals turns the first interrupt or SIGTERM into a drain, which stops
// at the next superstep border, and the second one into a cancellation.
func withSignals(parent context.Context, con console) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	d := &drain{asked: make(chan struct{})}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
				if n == 0 {
					if !d.quiet.Load() {
						fmt.Fprintln(con.err, "\njunction: stopping after the work under way; once more cuts it off")
					}
					close(d.asked)
					continue
				}
				cancel(errInterrupted)
				return
			}
		}
	}()
	stop := func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
	return context.WithValue(ctx, drainKey{}, d), stop
}

// drainOf is closed once the person at the keyboard asked to stop.
func drainOf(ctx context.Context) <-chan struct{} {
	if d, ok := ctx.Value(drainKey{}).(*drain); ok {
		return d.asked
	}
	return nil
}

// untilDrain ends with ctx or with the first signal, of which nothing is printed:
// for verbs that have nothing to finish, or that tell in their own way what they
// finish.
func untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	wish, ok := ctx.Value(drainKey{}).(*drain)
	ctx, cancel := context.WithCancel(ctx)
	if ok {
		wish.quiet.Store(true)
		go func() {
			select {
			case <-wish.asked:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// unbroken has it be an error from here on, and not our end, that what we write to is
// gone: for verbs that have more to do than to print.
func unbroken() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) } // that it is asked for is enough
