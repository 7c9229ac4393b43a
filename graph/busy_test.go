package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

// shared is a thread that one run holds while others want it.
type shared struct {
	g     *graph.Graph
	store state.Store
	work  time.Duration // of each of its three nodes
	runs  counter
	first chan graph.Result // how the run that holds it ends
}

// holdThread begins a thread of three nodes and returns while the first runs.
func holdThread(t *testing.T, work time.Duration) *shared {
	s := &shared{store: newStore(t), work: work, first: make(chan graph.Result, 1)}
	begun := make(chan struct{})
	node := func(name string) graph.Func {
		return do("log", func(ctx context.Context, _ graph.Input) (any, error) {
			if s.runs.add(name) == 1 && name == "a" {
				close(begun)
			}
			select {
			case <-time.After(s.work):
				return []any{name}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
	s.g = compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "log", Append: true}},
		Nodes:    []graph.Node{{Name: "a", Run: node("a")}, {Name: "b", Run: node("b")}, {Name: "c", Run: node("c")}},
		Edges:    edges(line("start", "a", "b", "c", "end")),
	})
	go func() {
		res, err := s.g.Run(t.Context(), graph.RunOptions{Store: s.store, Thread: "t"})
		if err != nil {
			t.Error(err)
		}
		s.first <- res
	}()
	<-begun
	return s
}

func TestABusyThreadIsLeftToItsHolderUnlessThePolicySaysOtherwise(t *testing.T) {
	for _, policy := range []graph.BusyPolicy{"", graph.BusyReject} {
		synctest.Test(t, func(t *testing.T) {
			s := holdThread(t, time.Second)
			begun := time.Now()
			_, err := s.g.Resume(t.Context(), "t", graph.RunOptions{Store: s.store, Busy: policy})
			if !errors.Is(err, state.ErrBusy) || time.Since(begun) != 0 {
				t.Fatalf("policy %q: %v after %s", policy, err, time.Since(begun))
			}
			wantStatus(t, <-s.first, state.StatusCompleted)
		})
	}
}

func TestAQueuedResumeWaitsForALiveHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := holdThread(t, 20*time.Second)
		told := 0
		_, err := s.g.Resume(t.Context(), "t", graph.RunOptions{Store: s.store, Busy: graph.BusyQueue, WaitBusy: func(time.Duration) { told++ }})
		if !errors.Is(err, graph.ErrFinished) {
			t.Fatalf("%v; want that the holder finished it", err)
		}
		wantStatus(t, <-s.first, state.StatusCompleted)
		if told < 50 || told > 61 {
			t.Errorf("told %d times in a minute", told)
		}
		if d := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1}, s.runs.n); d != "" {
			t.Error(d)
		}
	})
}

func TestOneOfManyQueuedResumesRunsTheThreadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := holdThread(t, time.Second)
		if err := s.store.RequestCancel(t.Context(), "t"); err != nil { // the first run stops in its first node
			t.Fatal(err)
		}
		const many = 5
		ends := make(chan error, many)
		for range many {
			go func() {
				res, err := s.g.Resume(t.Context(), "t", graph.RunOptions{Store: s.store, Busy: graph.BusyQueue})
				if err == nil && res.Status != state.StatusCompleted {
					err = res.Err
				}
				ends <- err
			}()
		}
		done := 0
		for range many {
			switch err := <-ends; {
			case err == nil:
				done++
			case !errors.Is(err, graph.ErrFinished):
				t.Error(err)
			}
		}
		wantStatus(t, <-s.first, state.StatusCancelled)
		if d := cmp.Diff(map[string]int{"a": 2, "b": 1, "c": 1}, s.runs.n); d != "" || done != 1 {
			t.Errorf("%d runs completed it\n%s", done, d)
		}
	})
}

func TestAnInterruptingResumeStopsTheHolderAndGoesOnWithoutBeingStoppedItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := holdThread(t, 20*time.Second)
		begun := time.Now()
		res := resume(t, s.g, "t", graph.RunOptions{Store: s.store, Busy: graph.BusyInterrupt})
		wantStatus(t, res, state.StatusCompleted)
		wantStatus(t, <-s.first, state.StatusCancelled)
		if took := time.Since(begun); took > 61*time.Second {
			t.Errorf("it had the thread only %s after it asked", took-time.Minute)
		}
		if d := cmp.Diff(map[string]int{"a": 2, "b": 1, "c": 1}, s.runs.n); d != "" {
			t.Error(d)
		}
	})
}

func TestAnInterruptingResumeOutlastsAHolderThatIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := holdThread(t, time.Second)
		wantStatus(t, <-s.first, state.StatusCompleted)
		id, err := s.g.Create(t.Context(), graph.RunOptions{Store: s.store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.store.Acquire(t.Context(), id, "dead", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		counted := &askedToStop{Store: s.store}
		res := resume(t, s.g, id, graph.RunOptions{Store: counted, Busy: graph.BusyInterrupt})
		wantStatus(t, res, state.StatusCompleted)
		if counted.n != 1 {
			t.Errorf("asked it to stop %d times", counted.n)
		}
	})
}

// askedToStop counts requests for a thread's end.
type askedToStop struct {
	state.Store
	n int
}

func (s *askedToStop) RequestCancel(ctx context.Context, id string) error {
	s.n++
	return s.Store.RequestCancel(ctx, id)
}

func TestAWaitForABusyThreadEndsWithItsCaller(t *testing.T) {
	for name, c := range map[string]struct {
		stop func(cancel func(), drain chan struct{})
		is   error
	}{
		"context": {func(cancel func(), _ chan struct{}) { cancel() }, context.Canceled},
		"drain":   {func(_ func(), drain chan struct{}) { close(drain) }, state.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := holdThread(t, time.Minute)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				drain := make(chan struct{})
				begun := time.Now()
				time.AfterFunc(5*time.Second, func() { c.stop(cancel, drain) })
				_, err := s.g.Resume(ctx, "t", graph.RunOptions{Store: s.store, Busy: graph.BusyQueue, Drain: drain})
				if !errors.Is(err, c.is) || time.Since(begun) != 5*time.Second {
					t.Errorf("%v after %s", err, time.Since(begun))
				}
				wantStatus(t, <-s.first, state.StatusCompleted)
			})
		})
	}
}

func TestAThreadDeletedDuringTheWaitIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := holdThread(t, time.Second)
		time.AfterFunc(3001*time.Millisecond, func() {
			if err := s.store.DeleteThread(context.Background(), "t"); err != nil {
				t.Error(err)
			}
		})
		if _, err := s.g.Resume(t.Context(), "t", graph.RunOptions{Store: s.store, Busy: graph.BusyQueue}); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("%v", err)
		}
		wantStatus(t, <-s.first, state.StatusCompleted)
	})
}

func TestAPolicyThatDoesNotExistIsRefused(t *testing.T) {
	g := compile(t, one(graph.Node{Run: nothing}))
	store := newStore(t)
	id, err := g.Create(t.Context(), graph.RunOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Resume(t.Context(), id, graph.RunOptions{Store: store, Busy: "wait"}); err == nil {
		t.Fatal("resumed")
	}
}
