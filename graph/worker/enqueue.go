package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"junction/state"
	"junction/state/crash"
)

// hold is how long an entry waits for what it announces; it is renewed every
// third of that.
const hold = 10 * time.Second

// Enqueue leaves a thread to the workers: ready makes it one that can be run, by
// creating, answering or reopening it. The thread's id must be known before, see
// [graph.NewThreadID].
//
// The entry comes first, held back while ready runs, and becomes due at once
// when ready succeeded. A crash
//
//	before the entry     leaves nothing.
//	before ready is done leaves an entry that stands for nothing new: a worker
//	                     takes it out again.
//	after it             leaves a thread with an entry: it is run 10 s later.
//
// An error of ready is returned, and the entry is left to the workers, due at
// once: whether ready took effect is theirs to see, and an entry that was there
// before must not wait for it. An error after it says that the
// thread is ready all the same.
func Enqueue(ctx context.Context, q state.Queue, thread string, ready func(ctx context.Context) error) error {
	if err := q.Enqueue(ctx, thread, hold); err != nil {
		return fmt.Errorf("queue thread %s: %w", thread, err)
	}
	crash.Point("queue.held.after")
	failed := heldBack(ctx, q, thread, ready)
	crash.Point("queue.ready.after")
	// It may be ready, whether or not the caller still waits.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hold/2)
	defer cancel()
	switch err := q.Enqueue(ctx, thread, 0); {
	case failed != nil:
		return errors.Join(failed, err)
	case err != nil:
		return fmt.Errorf("thread %s is ready and will be run in %s, but no worker could be told of it: %w", thread, hold, err)
	}
	crash.Point("queue.due.after")
	return nil
}

// heldBack runs ready and holds the entry back meanwhile, so that no worker finds it
// early, sees nothing to do and takes it out.
func heldBack(ctx context.Context, q state.Queue, thread string, ready func(ctx context.Context) error) error {
	holding, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() {
		ticker := time.NewTicker(hold / 3)
		defer ticker.Stop()
		for {
			select {
			case <-holding.Done():
				return
			case <-ticker.C:
			}
			// One that fails is made up for by the next, or by the Enqueue after
			// ready, whose error is the caller's.
			if q.Enqueue(holding, thread, hold) != nil {
				continue
			}
		}
	})
	return ready(ctx)
}
