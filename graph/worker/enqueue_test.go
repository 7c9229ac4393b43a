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

// entry is when the only entry of the fleet's queue is due; negative: there is
// none.
func (f *fleet) entry(t *testing.T) time.Duration {
	t.Helper()
	_, next, err := f.Store.Claim(t.Context(), 0, turn)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

var errRefused = errors.New("refused")

// deaf is a queue whose nth Enqueue fails, as of a process that dies there.
type deaf struct {
	state.Queue
	left int
}

func (d *deaf) Enqueue(ctx context.Context, thread string, after time.Duration) error {
	if d.left--; d.left == 0 {
		return errRefused
	}
	return d.Queue.Enqueue(ctx, thread, after)
}

func TestACrashWhileAThreadIsQueuedLeavesNoThreadWithoutAnEntry(t *testing.T) {
	const none = -1
	for name, c := range map[string]struct {
		fails int  // which Enqueue
		make  bool // the thread is made
		entry time.Duration
	}{
		"before its entry":    {1, false, none},
		"while it is made":    {2, false, 10 * time.Second},
		"it is refused":       {0, false, 0},
		"after it was made":   {2, true, 10 * time.Second},
		"after all, or never": {0, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, sleeping(time.Second))
				err := worker.Enqueue(t.Context(), &deaf{f.Store, c.fails}, "t", func(ctx context.Context) error {
					if f.entry(t) <= 0 {
						t.Error("the thread is made before its entry, or the entry is due already")
					}
					if !c.make {
						return errRefused
					}
					_, err := f.g.Create(ctx, graph.RunOptions{Store: f.Store, Thread: "t"})
					return err
				})
				if (err == nil) != (c.make && c.fails == 0) || err != nil && !errors.Is(err, errRefused) {
					t.Errorf("%v", err)
				}
				if _, err := f.Thread(t.Context(), "t"); (err == nil) != c.make {
					t.Errorf("thread: %v", err)
				}
				if got := f.entry(t); got != c.entry && (got >= 0 || c.entry >= 0) {
					t.Errorf("due in %s, want %s", got, c.entry)
				}
			})
		})
	}
}

func TestAnEntryIsHeldBackForAsLongAsItsThreadTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Second))
		p := f.start(t, "w", nil)
		err := worker.Enqueue(t.Context(), f.Store, "t", func(ctx context.Context) error {
			<-time.After(time.Minute)
			if seen := p.events("t"); len(seen) > 0 || f.entry(t) < 5*time.Second {
				t.Errorf("it came up before it was ready: %v", seen)
			}
			_, err := f.g.Create(ctx, graph.RunOptions{Store: f.Store, Thread: "t"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		await(t, 1100*time.Millisecond, "completed", func() bool { return f.status(t, "t") == state.StatusCompleted })
		await(t, time.Second, "out of the queue", func() bool { return f.entry(t) < 0 })
		if p.Running() != 0 {
			t.Errorf("%d running", p.Running())
		}
	})
}

func TestAThreadIsQueuedThoughItsCallerGaveUp(t *testing.T) {
	f := newFleet(t, 1, sleeping(time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	err := worker.Enqueue(ctx, f.Store, "t", func(ctx context.Context) error {
		_, err := f.g.Create(ctx, graph.RunOptions{Store: f.Store, Thread: "t"})
		cancel()
		return err
	})
	if err != nil || f.entry(t) != 0 {
		t.Errorf("%v, due in %s", err, f.entry(t))
	}
}
