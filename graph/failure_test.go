package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

// pair is two nodes at once, then one after both.
func pair(a, b graph.Node, channels ...graph.Channel) graph.Spec {
	a.Name, b.Name = "a", "b"
	return graph.Spec{
		Channels: append(channels, graph.Channel{Name: "a"}, graph.Channel{Name: "b"}),
		Nodes:    []graph.Node{a, b, {Name: "z", Run: nothing}},
		Edges: append(edges(line("start", "a"), line("start", "b"), line("z", "end")),
			graph.Edge{From: []string{"a", "b"}, To: "z"}),
	}
}

func TestAfterAFailureOnlyTasksWithoutWritesRunAgain(t *testing.T) {
	var runs counter
	var ids []string
	fails := true
	aDone := make(chan struct{})
	g := compile(t, pair(
		graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
			runs.add("a")
			defer close(aDone)
			return graph.Update{Writes: []graph.Write{{Channel: "a", Value: 1}}}, nil
		}},
		graph.Node{Run: func(_ context.Context, in graph.Input) (graph.Update, error) {
			runs.add("b")
			ids = append(ids, in.Task.ID)
			if fails {
				<-aDone
				return graph.Update{}, errBoom
			}
			return graph.Update{Writes: []graph.Write{{Channel: "b", Value: 2}}}, nil
		}}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	var node *graph.NodeError
	if !errors.As(res.Err, &node) || node.Node != "b" || !errors.Is(res.Err, errBoom) {
		t.Fatalf("error %v", res.Err)
	}
	th, err := store.Thread(t.Context(), res.Thread)
	if err != nil || th.Failure == nil || th.Failure.Node != "b" || th.Head != 1 {
		t.Fatalf("thread %+v, %v", th, err)
	}
	fails = false
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if runs.of("a") != 1 || runs.of("b") != 2 || ids[0] != ids[1] {
		t.Fatalf("a ran %d times, b %d times under %v", runs.of("a"), runs.of("b"), ids)
	}
	if d := cmp.Diff(map[string]any{"a": int64(1), "b": int64(2)}, res.State); d != "" {
		t.Fatal(d)
	}
}

func TestAFailureCutsItsSiblings(t *testing.T) {
	var ended atomic.Bool
	g := compile(t, pair(
		graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			<-ctx.Done()
			ended.Store(true)
			return graph.Update{}, ctx.Err()
		}},
		graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, errBoom }}))
	res := run(t, g, graph.RunOptions{})
	wantStatus(t, res, state.StatusFailed)
	if !errors.Is(res.Err, errBoom) || !ended.Load() {
		t.Fatalf("error %v, sibling ended %v", res.Err, ended.Load())
	}
}

func TestAHopInFlightOutlivesASiblingsFailure(t *testing.T) {
	begun := make(chan struct{})
	g := compile(t, pair(
		graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			hop, err := state.JournalFrom(ctx).Begin("", "x")
			if err != nil {
				return graph.Update{}, err
			}
			close(begun)
			<-state.Draining(ctx)
			if ctx.Err() != nil {
				t.Error("the context ended although a hop is in flight")
			}
			hop.Close()
			<-ctx.Done() // now nothing keeps it
			if _, err := state.JournalFrom(ctx).Begin("", "y"); !errors.Is(err, state.ErrDraining) {
				t.Errorf("a new hop began while draining: %v", err)
			}
			return graph.Update{Writes: []graph.Write{{Channel: "a", Value: 1}}}, nil
		}},
		graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
			<-begun
			return graph.Update{}, errBoom
		}}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	snap, err := store.Load(t.Context(), res.Thread, 0)
	if err != nil || len(snap.Pending) != 1 {
		t.Fatalf("pending %v, %v: what a finished sibling wrote must be kept", snap.Pending, err)
	}
}

func TestTwoWritersWithoutAReducerAreBothNamed(t *testing.T) {
	g := compile(t, pair(graph.Node{Run: put("x", 1)}, graph.Node{Run: put("x", 2)}, graph.Channel{Name: "x"}))
	res := run(t, g, graph.RunOptions{Store: newStore(t)})
	wantStatus(t, res, state.StatusFailed)
	var e *graph.ConcurrentWriteError
	if !errors.As(res.Err, &e) || e.Channel != "x" || e.Nodes != [2]string{"a", "b"} {
		t.Fatalf("error %v", res.Err)
	}
}

func TestAPanicIsAnErrorOfItsNode(t *testing.T) {
	g := compile(t, graph.Spec{
		Nodes: []graph.Node{{Name: "p", Run: func(context.Context, graph.Input) (graph.Update, error) { panic(errBoom) }}},
		Edges: edges(line("start", "p", "end")),
	})
	res := run(t, g, graph.RunOptions{})
	wantStatus(t, res, state.StatusFailed)
	var p *graph.PanicError
	if !errors.As(res.Err, &p) || !errors.Is(res.Err, errBoom) || len(p.Stack) == 0 {
		t.Fatalf("error %v", res.Err)
	}
}

func TestANodeThatEndsItsGoroutineFails(t *testing.T) {
	exit := func(context.Context, graph.Input) (graph.Update, error) {
		runtimeGoexit()
		return graph.Update{}, nil
	}
	for name, s := range map[string]graph.Spec{
		"alone":    {Nodes: []graph.Node{{Name: "a", Run: exit}}, Edges: edges(line("start", "a", "end"))},
		"together": pair(graph.Node{Run: exit}, graph.Node{Run: nothing}),
		"timeout":  {Nodes: []graph.Node{{Name: "a", Run: exit, Timeout: time.Hour}}, Edges: edges(line("start", "a", "end"))},
	} {
		t.Run(name, func(t *testing.T) {
			res := run(t, compile(t, s), graph.RunOptions{Store: newStore(t)})
			wantStatus(t, res, state.StatusFailed)
			if !strings.Contains(res.Err.Error(), `node "a"`) {
				t.Fatalf("error %v", res.Err)
			}
		})
	}
}

func TestTheRecursionLimitEndsALoop(t *testing.T) {
	g := compile(t, graph.Spec{
		Nodes:          []graph.Node{{Name: "a", Run: nothing}, {Name: "b", Run: nothing}},
		Edges:          edges(line("start", "a", "b", "a")),
		RecursionLimit: 7,
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	var e *graph.RecursionError
	if !errors.As(res.Err, &e) || e.Limit != 7 || res.Step != 7 {
		t.Fatalf("error %v after %d", res.Err, res.Step)
	}
	if th, err := store.Thread(t.Context(), res.Thread); err != nil || th.Failure.Code != "recursion_limit" {
		t.Fatalf("failure %+v, %v", th.Failure, err)
	}
}

func TestARingOfEmptyFanOutsIsALoop(t *testing.T) {
	none := func(graph.View) ([]any, error) { return nil, nil }
	g := compile(t, graph.Spec{
		Nodes: []graph.Node{{Name: "s", Run: nothing}, {Name: "a", Run: nothing, Each: none}, {Name: "b", Run: nothing, Each: none}},
		Edges: edges(line("start", "s", "a", "b", "a")),
	})
	res := run(t, g, graph.RunOptions{})
	var e *graph.RecursionError
	if !errors.As(res.Err, &e) {
		t.Fatalf("error %v", res.Err)
	}
}

func TestRetriesHaveBackoffAndAJournalThatKnowsTheEarlierAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs, known int
		begun := time.Now()
		g := compile(t, graph.Spec{
			Nodes: []graph.Node{{Name: "r", Retry: &graph.Retry{Attempts: 4, Delay: time.Second},
				Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					runs++
					j := state.JournalFrom(ctx)
					h, err := j.Begin("", "same")
					if err != nil {
						return graph.Update{}, err
					}
					defer h.Close()
					if rec, ok := h.Replay(); ok {
						known++
						if string(rec.Result) != `1` {
							t.Errorf("replayed %s", rec.Result)
						}
					} else if err := h.Outcome(ctx, state.Record{Attempt: 1, Status: state.CallSuccess, Final: true, Result: []byte(`1`)}, false); err != nil {
						return graph.Update{}, err
					}
					if runs < 4 {
						return graph.Update{}, errBoom
					}
					return graph.Update{}, nil
				}}},
			Edges: edges(line("start", "r", "end")),
		})
		store := newStore(t)
		var retries int
		res := run(t, g, graph.RunOptions{Store: store, Thread: "t1", OnEvent: func(e graph.Event) {
			if e.Kind == graph.EventRetry {
				retries++
			}
		}})
		wantStatus(t, res, state.StatusCompleted)
		if runs != 4 || known != 3 || retries != 3 {
			t.Fatalf("%d runs, %d replays, %d events", runs, known, retries)
		}
		if d := time.Since(begun); d == 0 || d > 7*time.Second {
			t.Fatalf("the delays took %s; at most 1+2+4 s were allowed", d)
		}
		recs, err := store.Records(t.Context(), state.RecordFilter{Thread: res.Thread})
		if err != nil || len(recs) != 1 {
			t.Fatalf("records %v, %v", recs, err)
		}
	})
}

func TestWhatRetryRefusesRunsOnce(t *testing.T) {
	for name, failure := range map[string]error{
		"not wanted":     errBoom,
		"nondeterminism": &state.NondeterminismError{Node: "r"},
	} {
		t.Run(name, func(t *testing.T) {
			var runs int
			retry := &graph.Retry{If: func(err error) bool { return !errors.Is(err, errBoom) }, Delay: time.Nanosecond}
			g := compile(t, graph.Spec{
				Nodes: []graph.Node{{Name: "r", Retry: retry, Run: func(context.Context, graph.Input) (graph.Update, error) {
					runs++
					return graph.Update{}, failure
				}}},
				Edges: edges(line("start", "r", "end")),
			})
			res := run(t, g, graph.RunOptions{})
			if runs != 1 || !errors.Is(res.Err, failure) {
				t.Fatalf("%d runs, %v", runs, res.Err)
			}
		})
	}
}
