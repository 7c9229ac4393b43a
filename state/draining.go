package state

import (
	"context"
	"errors"
	"fmt"
)

// ErrDraining is wrapped by the error of a hop that was refused, or cancelled
// as safe, because its run is draining. A task that returns it has not failed:
// it runs again when the thread is resumed.
var ErrDraining = errors.New("draining")

type drainingKey struct{}

// WithDraining gives ctx the channel that tells hops of a drain. It is closed
// when a sibling of the task fails, and when the run is asked to stop at the
// next superstep border; ctx itself then ends only after the hops in flight
// did, or on a hard cancel.
func WithDraining(ctx context.Context, draining <-chan struct{}) context.Context {
	return context.WithValue(ctx, drainingKey{}, draining)
}

// Draining returns the channel whose closing means: start no new hop, cancel
// the safe hops in flight, let conditional and unsafe ones finish within their
// maximum time. It is nil outside of a graph, where nothing drains.
func Draining(ctx context.Context) <-chan struct{} {
	d, _ := ctx.Value(drainingKey{}).(<-chan struct{})
	return d
}

// Drain makes every later [Journal.Begin] fail with ErrDraining and returns a
// channel that is closed once no hop is in flight. Both are decided under one
// lock, so no request can leave after the channel is closed.
func (j *Journal) Drain() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.idle == nil {
		j.idle = make(chan struct{})
		if j.flying == 0 {
			close(j.idle)
		}
	}
	return j.idle
}

// takeOff counts a hop that begins, unless the journal drains. j.mu is held.
func (j *Journal) takeOff() error {
	if j.idle != nil {
		return fmt.Errorf("node %q: no hop begins any more: %w", j.scope.Node, ErrDraining)
	}
	j.flying++
	return nil
}

// land counts a hop that has ended. j.mu is held.
func (j *Journal) land() {
	j.flying--
	if j.flying == 0 && j.idle != nil {
		close(j.idle)
	}
}
