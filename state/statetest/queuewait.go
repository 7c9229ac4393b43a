package statetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"junction/state"
)

// moment is how long a test watches that something does not happen.
const moment = 100 * time.Millisecond

// waiters has n goroutines wait and returns what each got.
func waiters(ctx context.Context, t *testing.T, q state.Queue, n int) <-chan error {
	t.Helper()
	woken := make(chan error, n)
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for range n {
		all.Go(func() { woken <- q.WaitQueued(ctx, long) })
	}
	return woken
}

func wantWoken(t *testing.T, woken <-chan error) {
	t.Helper()
	select {
	case err := <-woken:
		must(t, err)
	case <-time.After(long):
		t.Fatal("nobody was woken")
	}
}

func wantNobody(t *testing.T, woken <-chan error) {
	t.Helper()
	select {
	case err := <-woken:
		t.Fatalf("somebody was woken (%v)", err)
	case <-time.After(moment):
	}
}

func queueWake(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "before")
	must(t, q.WaitQueued(t.Context(), long)) // what came before counts
	claim(t, q, 1, long, "before")
	woken := waiters(t.Context(), t, q, 1)
	wantNobody(t, woken)
	enqueue(t, q, 0, "t")
	wantWoken(t, woken)
	claims, _ := claim(t, q, 1, long, "t")
	woken = waiters(t.Context(), t, q, 1)
	must(t, q.Defer(t.Context(), claims[0], 0))
	wantWoken(t, woken)
}

func queueWakeOne(t *testing.T, q state.Queue) {
	woken := waiters(t.Context(), t, q, 3)
	wantNobody(t, woken)
	for i := range 3 {
		enqueue(t, q, 0, fmt.Sprintf("t%d", i))
		wantWoken(t, woken)
		wantNobody(t, woken)
	}
}

func queueWakeLeft(t *testing.T, q state.Queue) {
	ctx, leave := context.WithCancel(t.Context())
	left := waiters(ctx, t, q, 1)
	wantNobody(t, left)
	woken := waiters(t.Context(), t, q, 1)
	wantNobody(t, woken)
	leave()
	select {
	case err := <-left:
		wantErr(t, err, context.Canceled)
	case <-time.After(long):
		t.Fatal("a waiter stays when its context has ended")
	}
	enqueue(t, q, 0, "t")
	wantWoken(t, woken)
}

func queueWaitEnds(t *testing.T, q state.Queue) {
	for _, most := range []time.Duration{-1, 0, time.Millisecond, short} {
		begun := time.Now()
		must(t, q.WaitQueued(t.Context(), most))
		if took := time.Since(begun); took < most {
			t.Errorf("waited %v of %v with nothing queued", took, most)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if err := q.WaitQueued(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the context's", err)
	}
}

func queueMany(t *testing.T, q state.Queue) {
	const n, workers, each = 10_000, 8, 64
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				if err := q.Enqueue(t.Context(), fmt.Sprint(i), 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	wantLen(t, q, n, 0)
	var mu sync.Mutex
	times := make(map[string]int, n)
	for range workers {
		all.Go(func() {
			for {
				claims, _, err := q.Claim(t.Context(), each, 10*long)
				if err != nil {
					t.Error(err)
				}
				if len(claims) == 0 {
					return
				}
				for _, c := range claims {
					if err := q.Done(t.Context(), c); err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				for _, c := range claims {
					times[c.Thread]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, count := range times {
		if count != 1 {
			t.Errorf("thread %s was handed out %d times", id, count)
		}
	}
	equal(t, "threads handed out", len(times), n)
	wantLen(t, q, 0, 0)
}
