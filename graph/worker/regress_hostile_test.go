package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
)

// TestAThreadWhoseStoreWentBackIsMarked brings an entry back with the store, as a
// failover does that loses the newest extension of a turn: no worker may run the
// thread until somebody has looked at it.
func TestAThreadWhoseStoreWentBackIsMarked(t *testing.T) {
	for name, held := range map[string]time.Duration{
		"that is free": 0,
		"that the store believes to be held by an earlier worker": turn / 2,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, sleeping(time.Second))
				f.enqueue(t, "t")
				w := worker.New(f.Store, f.Store, func(ctx context.Context, th state.Thread, _ graph.RunOptions) (graph.Result, error) {
					f.ran.add(th.ID)
					err := f.Enqueue(ctx, th.ID, time.Minute)
					if held > 0 {
						_, busy := f.Acquire(ctx, th.ID, "earlier", held)
						err = errors.Join(err, busy)
					}
					return graph.Result{}, errors.Join(err, state.Regressed(state.Lease{Thread: th.ID}, "its head is 1, not 2"))
				}, nil)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				if err := w.Serve(ctx); err != nil {
					t.Fatal(err)
				}
				th, err := f.Thread(t.Context(), "t")
				if err != nil || th.Status != state.StatusFailed || th.Failure == nil || f.ran.of("t") != 1 {
					t.Fatalf("thread %+v, %v; run %d times", th, err, f.ran.of("t"))
				}
				if th, err := f.g.Reopen(t.Context(), "t", graph.RunOptions{Store: f.Store}); err != nil || th.Status != state.StatusPending {
					t.Errorf("reopened by who has looked: %+v, %v", th, err)
				}
			})
		})
	}
}

// TestACancelIsCarriedOutByAWorkerThatCannotRunTheThread: the request of a thread
// whose holder died is not turned into a failure.
func TestACancelIsCarriedOutByAWorkerThatCannotRunTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Second))
		f.enqueue(t, "t")
		l, err := f.Acquire(t.Context(), "t", "dead", time.Second)
		if err == nil {
			err = errors.Join(f.SetStatus(t.Context(), l, state.StatusInterrupted, nil, nil), f.RequestCancel(t.Context(), "t"))
		}
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		w := worker.New(f.Store, f.Store, func(context.Context, state.Thread, graph.RunOptions) (graph.Result, error) {
			return graph.Result{}, graph.ErrMismatch
		}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := w.Serve(ctx); err != nil {
			t.Fatal(err)
		}
		if got := f.status(t, "t"); got != state.StatusCancelled {
			t.Errorf("it is %s", got)
		}
	})
}
