package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

func TestCancelReachesEveryTaskAndIsRecorded(t *testing.T) {
	var ended atomic.Int32
	begun := make(chan struct{}, 2)
	wait := func(ctx context.Context, _ graph.Input) (graph.Update, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended.Add(1)
		return graph.Update{}, ctx.Err()
	}
	g := compile(t, pair(graph.Node{Run: wait}, graph.Node{Run: wait}))
	store := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		<-begun
		cancel()
	}()
	res, err := g.Run(ctx, graph.RunOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res, state.StatusCancelled)
	if ended.Load() != 2 || !errors.Is(res.Err, context.Canceled) {
		t.Fatalf("%d tasks ended, %v", ended.Load(), res.Err)
	}
	th, err := store.Thread(t.Context(), res.Thread)
	if err != nil || th.Status != state.StatusCancelled || th.Failure.Code != "cancelled" {
		t.Fatalf("thread %+v, %v", th, err)
	}
}

func TestCancellationThroughTheStoreStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		asked := time.Time{}
		var ended time.Duration
		g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			asked = time.Now()
			if err := store.RequestCancel(ctx, "t1"); err != nil {
				return graph.Update{}, err
			}
			<-ctx.Done()
			ended = time.Since(asked)
			return graph.Update{}, ctx.Err()
		}}))
		res := run(t, g, graph.RunOptions{Store: store, Thread: "t1"})
		wantStatus(t, res, state.StatusCancelled)
		if !errors.Is(res.Err, graph.ErrCancelRequested) || ended > 250*time.Millisecond {
			t.Fatalf("%v after %s", res.Err, ended)
		}
	})
}

func TestANodeThatIgnoresACancelDoesNotHoldTheRun(t *testing.T) {
	for name, together := range map[string]bool{"alone": false, "together": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck, late := make(chan struct{}), make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				hang := func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					defer close(late)
					cancel()
					<-stuck
					return graph.Update{Writes: []graph.Write{{Channel: "a", Value: "late"}}}, graph.Emit(ctx, "late")
				}
				s := one(graph.Node{Run: hang}, graph.Channel{Name: "a"})
				if together {
					s = pair(graph.Node{Run: hang}, graph.Node{Run: untilCut})
				}
				store := newStore(t)
				begun := time.Now()
				ends := 0
				res, err := compile(t, s).Run(ctx, graph.RunOptions{Store: store, Grace: 3 * time.Second, OnEvent: func(e graph.Event) {
					switch {
					case ends > 0:
						t.Errorf("event %s after the end", e.Kind)
					case e.Kind == graph.EventEnd:
						ends++
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				wantStatus(t, res, state.StatusCancelled)
				if d := time.Since(begun); d != 3*time.Second || res.Abandoned != 1 {
					t.Fatalf("%d abandoned after %s", res.Abandoned, d)
				}
				close(stuck)
				<-late
				synctest.Wait()
				snap, err := store.Load(t.Context(), res.Thread, 0)
				if err != nil || len(snap.Pending) != 0 {
					t.Fatalf("what an abandoned node returned was kept: %v, %v", snap.Pending, err)
				}
			})
		})
	}
}

func TestASiblingThatIgnoresAFailureIsLeftBehindAndQueuedTasksDoNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, begun := make(chan struct{}), make(chan struct{})
		items := []any{0, 1, 2, 3, 4, 5}
		g := compile(t, fanSpec(func(graph.View) ([]any, error) { return items, nil },
			func(_ context.Context, in graph.Input) (graph.Update, error) {
				if in.Item == int64(1) {
					<-begun
					return graph.Update{}, errBoom
				}
				close(begun)
				<-stuck
				return graph.Update{}, nil
			}))
		res := run(t, g, graph.RunOptions{Store: newStore(t), MaxParallel: 2})
		wantStatus(t, res, state.StatusFailed)
		if res.Abandoned != 1 || !errors.Is(res.Err, errBoom) {
			t.Fatalf("%d abandoned, %v", res.Abandoned, res.Err)
		}
		close(stuck)
	})
}

func TestDrainStopsAtTheBorderAndTheThreadGoesOnLater(t *testing.T) {
	var runs counter
	drain := make(chan struct{})
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "x"}},
		Nodes: []graph.Node{
			{Name: "a", Run: do("x", func(context.Context, graph.Input) (any, error) {
				if runs.add("a") == 1 {
					close(drain)
				}
				return "kept", nil
			})},
			{Name: "b", Run: func(context.Context, graph.Input) (graph.Update, error) { runs.add("b"); return graph.Update{}, nil }},
		},
		Edges: edges(line("start", "a", "b", "end")),
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store, Drain: drain})
	if !res.Drained || res.Status != state.StatusRunning || res.State["x"] != "kept" || runs.of("b") != 0 {
		t.Fatalf("drained %v, status %s, state %v, b ran %d times", res.Drained, res.Status, res.State, runs.of("b"))
	}
	wantStatus(t, resume(t, g, res.Thread, graph.RunOptions{Store: store}), state.StatusCompleted)
	if runs.of("a") != 1 || runs.of("b") != 1 {
		t.Fatalf("runs %v", runs.n)
	}
}

func TestDrainRefusesTheNextHopAndTheTaskRunsAgain(t *testing.T) {
	var runs counter
	drain := make(chan struct{})
	g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
		if runs.add("n") == 1 {
			close(drain)
			<-state.Draining(ctx)
			if ctx.Err() != nil {
				t.Error("a drain must not end the context")
			}
			// The run tells the journal a moment after the signal.
			<-state.JournalFrom(ctx).Drain()
		}
		h, err := state.JournalFrom(ctx).Begin("", "x")
		if err != nil {
			return graph.Update{}, err
		}
		h.Close()
		return graph.Update{}, nil
	}}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store, Drain: drain})
	if !res.Drained || res.Err != nil {
		t.Fatalf("drained %v, %v", res.Drained, res.Err)
	}
	wantStatus(t, resume(t, g, res.Thread, graph.RunOptions{Store: store}), state.StatusCompleted)
}

func TestARunThatIsCutBecauseItsProcessStopsIsNotCancelled(t *testing.T) {
	store := newStore(t)
	var runs counter
	ctx, cut := context.WithCancelCause(t.Context())
	g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
		if runs.add("n") == 1 {
			cut(fmt.Errorf("the grace is over: %w", state.ErrDraining))
			<-ctx.Done()
		}
		return graph.Update{}, ctx.Err()
	}}))
	res, err := g.Run(ctx, graph.RunOptions{Store: store, Thread: "t"})
	if err != nil || !res.Drained || res.Status != state.StatusRunning {
		t.Fatalf("%+v, %v", res, err)
	}
	wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: store, Queued: true}), state.StatusCompleted)
}
