package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

type drainKey struct{}

// errInterrupted is why a run was cut off, as its thread records it.
var errInterrupted = errors.New("it was interrupted twice")

// withSignals turns the first interrupt or SIGTERM into a drain, which stops
// at the next superstep border, and the second one into a cancellation.
func withSignals(parent context.Context, con console) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	drain := make(chan struct{})
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
					fmt.Fprintln(con.err, "\njunction: stopping after the work under way; once more cuts it off")
					close(drain)
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
	return context.WithValue(ctx, drainKey{}, (<-chan struct{})(drain)), stop
}

// drainOf is closed once the person at the keyboard asked to stop.
func drainOf(ctx context.Context) <-chan struct{} {
	d, _ := ctx.Value(drainKey{}).(<-chan struct{})
	return d
}

// untilDrain ends with ctx or with the first signal: for verbs that have
// nothing to finish.
func untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if d := drainOf(ctx); d != nil {
		go func() {
			select {
			case <-d:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}
