package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

func TestResumeSaysWhyItCannot(t *testing.T) {
	fails := graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, errBoom }}
	g := compile(t, one(fails))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	other, newer := one(fails), one(fails)
	other.Name, newer.Name, newer.Version = "other", "test", "2"
	held := run(t, g, graph.RunOptions{Store: store})
	if _, err := store.Acquire(t.Context(), held.Thread, "somebody", time.Minute); err != nil {
		t.Fatal(err)
	}
	var busy *state.BusyError
	for name, c := range map[string]struct {
		g      *graph.Graph
		thread string
		is     error
	}{
		"unknown thread":  {g, "nobody", state.ErrNotFound},
		"another graph":   {compile(t, other), res.Thread, graph.ErrMismatch},
		"another version": {compile(t, newer), res.Thread, graph.ErrMismatch},
		"running":         {g, held.Thread, state.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.g.Resume(t.Context(), c.thread, graph.RunOptions{Store: store})
			if !errors.Is(err, c.is) {
				t.Fatalf("%v", err)
			}
			if c.is == state.ErrBusy && (!errors.As(err, &busy) || busy.Owner != "somebody") {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestResumeWaitsForABusyThreadWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		g := compile(t, one(graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
			if fails {
				return graph.Update{}, errBoom
			}
			return graph.Update{}, nil
		}}))
		store := newStore(t)
		res := run(t, g, graph.RunOptions{Store: store})
		fails = false
		if _, err := store.Acquire(t.Context(), res.Thread, "dead", 4*time.Second); err != nil {
			t.Fatal(err)
		}
		var shown []time.Duration
		res = resume(t, g, res.Thread, graph.RunOptions{Store: store, WaitBusy: func(d time.Duration) { shown = append(shown, d) }})
		wantStatus(t, res, state.StatusCompleted)
		if len(shown) != 4 || shown[0] != 4*time.Second || shown[3] != time.Second {
			t.Fatalf("countdown %v", shown)
		}
	})
}

// failing passes everything on to a store but the operations it breaks.
type failing struct {
	state.Store
	load   func() error
	writes func() error
	commit func(state.Commit) error
}

func (f *failing) Load(ctx context.Context, thread string, seq int64) (state.Snapshot, error) {
	if f.load != nil {
		if err := f.load(); err != nil {
			return state.Snapshot{}, err
		}
	}
	return f.Store.Load(ctx, thread, seq)
}

func (f *failing) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, r []state.Record) error {
	if f.writes != nil {
		if err := f.writes(); err != nil {
			return err
		}
	}
	return f.Store.PutWrites(ctx, l, seq, w, r)
}

func (f *failing) Commit(ctx context.Context, c state.Commit) (state.Checkpoint, error) {
	if f.commit != nil {
		if err := f.commit(c); err != nil {
			return state.Checkpoint{}, err
		}
	}
	return f.Store.Commit(ctx, c)
}

func TestACheckpointThatCannotBeLoadedIsTheError(t *testing.T) {
	var runs counter
	g := compile(t, one(graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
		runs.add("n")
		return graph.Update{}, errBoom
	}}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	broken := errors.New("disk on fire")
	_, err := g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: &failing{Store: store, load: func() error { return broken }}})
	if !errors.Is(err, broken) || runs.of("n") != 1 {
		t.Fatalf("%v, ran %d times: never a fresh start", err, runs.of("n"))
	}
}

func TestACheckpointThatCannotBeWrittenIsAnErrorAndFinishedTasksAreNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs counter
		count := func(name string) graph.Func {
			return do(name, func(context.Context, graph.Input) (any, error) { return runs.add(name), nil })
		}
		g := compile(t, pair(graph.Node{Run: count("a")}, graph.Node{Run: count("b")}))
		store := newStore(t)
		broken := errors.New("disk on fire")
		tries := 0
		res, err := g.Run(t.Context(), graph.RunOptions{Store: &failing{Store: store, commit: func(state.Commit) error { tries++; return broken }}})
		if !errors.Is(err, broken) || tries != 3 {
			t.Fatalf("%v after %d tries", err, tries)
		}
		res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
		wantStatus(t, res, state.StatusCompleted)
		// The writes of the last task rode in the commit that failed: one of
		// the two runs again, never both.
		if n := runs.of("a") + runs.of("b"); n != 3 {
			t.Fatalf("a ran %d times, b %d times", runs.of("a"), runs.of("b"))
		}
	})
}

func TestAStoreThatFailsForAMomentLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		commits := map[string]int{}
		g := compile(t, pair(graph.Node{Run: put("a", 1)}, graph.Node{Run: put("b", 1)}))
		once := true
		res := run(t, g, graph.RunOptions{Store: &failing{Store: store,
			writes: func() error {
				if once {
					once = false
					return errors.New("connection dropped")
				}
				return nil
			},
			commit: func(c state.Commit) error {
				if commits[c.WriteID]++; commits[c.WriteID] == 1 {
					return errors.New("connection dropped")
				}
				return nil
			}}})
		wantStatus(t, res, state.StatusCompleted)
		if len(commits) != 2 {
			t.Fatalf("write ids %v: a repeated commit keeps its id", commits)
		}
	})
}

func TestALostLeaseStopsTheRunWithoutTouchingTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		var ended time.Duration
		g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			l, err := store.Thread(ctx, "t1")
			if err != nil || l.Status != state.StatusRunning {
				t.Errorf("thread %+v, %v", l, err)
			}
			begun := time.Now()
			<-ctx.Done()
			ended = time.Since(begun)
			return graph.Update{}, ctx.Err()
		}}))
		stolen := &stealing{Store: store}
		_, err := g.Run(t.Context(), graph.RunOptions{Store: stolen, Thread: "t1", LeaseTTL: 3 * time.Second})
		if !errors.Is(err, state.ErrLeaseLost) || ended != time.Second {
			t.Fatalf("%v after %s", err, ended)
		}
		if th, err := store.Thread(t.Context(), "t1"); err != nil || th.Status != state.StatusRunning {
			t.Fatalf("thread %+v, %v", th, err)
		}
	})
}

// stealing is a store whose leases turn out to be lost at their renewal.
type stealing struct{ state.Store }

func (s *stealing) Renew(context.Context, state.Lease) (state.Lease, error) {
	return state.Lease{}, state.ErrLeaseLost
}

func TestTheLeaseIsRenewedWhileALongNodeRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			select {
			case <-time.After(time.Hour):
				return graph.Update{}, nil
			case <-ctx.Done():
				return graph.Update{}, ctx.Err()
			}
		}}))
		wantStatus(t, run(t, g, graph.RunOptions{Store: store, LeaseTTL: time.Minute}), state.StatusCompleted)
	})
}

func TestTwoRunsOfOneThreadNeverBothAdvanceIt(t *testing.T) {
	store := newStore(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	g := compile(t, one(graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
		close(inside)
		<-leave
		return graph.Update{}, nil
	}}))
	done := make(chan error)
	go func() {
		_, err := g.Run(t.Context(), graph.RunOptions{Store: store, Thread: "t1"})
		done <- err
	}()
	<-inside
	if _, err := g.Resume(t.Context(), "t1", graph.RunOptions{Store: store}); !errors.Is(err, state.ErrBusy) {
		t.Errorf("resume of a running thread: %v", err)
	}
	if _, err := g.Run(t.Context(), graph.RunOptions{Store: store, Thread: "t1"}); !errors.Is(err, state.ErrExists) {
		t.Errorf("a second run under one id: %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAPartlyArrivedJoinAndItemsSurviveAResume(t *testing.T) {
	fails := true
	stop := func(_ context.Context, in graph.Input) (any, error) {
		if fails && in.Task.Index == 1 {
			return nil, errBoom
		}
		return []any{in.Item}, nil
	}
	evaluated := 0
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "found", Append: true}, {Name: "joined"}},
		Nodes: []graph.Node{
			{Name: "early", Run: nothing},
			{Name: "list", Run: nothing},
			{Name: "items", Each: func(graph.View) ([]any, error) {
				evaluated++
				return []any{map[string]any{"n": 1 << 60}, "two", 3.5}, nil
			}, Run: do("found", stop)},
			{Name: "join", Run: put("joined", true)},
		},
		Edges: append(edges(line("start", "early"), line("start", "list", "items"), line("join", "end")),
			graph.Edge{From: []string{"early", "items"}, To: "join"}),
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	fails = false
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{}})
	wantStatus(t, res, state.StatusCompleted)
	want := map[string]any{"joined": true, "found": []any{map[string]any{"n": int64(1 << 60)}, "two", 3.5}}
	if d := cmp.Diff(want, res.State); d != "" || evaluated != 1 {
		t.Fatalf("evaluated %d times\n%s", evaluated, d)
	}
}
