package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

func TestNoMoreTasksRunAtOnceThanAllowed(t *testing.T) {
	items := make([]any, 40)
	for most, want := range map[int]int32{1: 1, 3: 3, 0: 40, -1: 40} {
		synctest.Test(t, func(t *testing.T) {
			var now, peak atomic.Int32
			g := compile(t, fanSpec(func(graph.View) ([]any, error) { return items, nil },
				func(context.Context, graph.Input) (graph.Update, error) {
					n := now.Add(1)
					for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
					}
					<-time.After(time.Second) // all that may run are inside by then
					now.Add(-1)
					return graph.Update{}, nil
				}))
			wantStatus(t, run(t, g, graph.RunOptions{MaxParallel: most}), state.StatusCompleted)
			if peak.Load() != want {
				t.Errorf("MaxParallel %d: %d tasks at once, want %d", most, peak.Load(), want)
			}
		})
	}
}

func TestACallersDeadlineCancelsTheThreadWhichCanBeResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := true
		g := compile(t, one(graph.Node{Run: func(ctx context.Context, in graph.Input) (graph.Update, error) {
			if slow {
				return untilCut(ctx, in)
			}
			return graph.Update{}, nil
		}}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		store := newStore(t)
		res, err := g.Run(ctx, graph.RunOptions{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, res, state.StatusCancelled)
		if !errors.Is(res.Err, context.DeadlineExceeded) {
			t.Fatalf("error %v", res.Err)
		}
		slow = false
		wantStatus(t, resume(t, g, res.Thread, graph.RunOptions{Store: store}), state.StatusCompleted)
	})
}

func TestARunCancelledBeforeItBeginsMakesNoThread(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := newStore(t)
	g := compile(t, one(graph.Node{Run: nothing}))
	if _, err := g.Run(ctx, graph.RunOptions{Store: store}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if all, err := store.Threads(t.Context(), state.ThreadFilter{}); err != nil || len(all) != 0 {
		t.Fatalf("threads %v, %v", all, err)
	}
}

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	g := compile(t, one(graph.Node{Run: nothing}, graph.Channel{Name: "x"}))
	answers := map[string]json.RawMessage{"": json.RawMessage(`1`)}
	if _, err := g.Run(t.Context(), graph.RunOptions{Answers: answers}); err == nil {
		t.Error("answers for a new thread")
	}
	for name, o := range map[string]graph.RunOptions{
		"no store":       {},
		"another thread": {Store: newStore(t), Thread: "other"},
		"input":          {Store: newStore(t), Input: map[string]any{"x": 1}},
	} {
		if _, err := g.Resume(t.Context(), "t", o); err == nil || errors.Is(err, state.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDefinitionAndMetaAreKeptWithTheThread(t *testing.T) {
	store := newStore(t)
	g := compile(t, one(graph.Node{Run: nothing}))
	res := run(t, g, graph.RunOptions{Store: store, Thread: "mine", Definition: []byte("workflow: x"), Meta: map[string]string{"file": "x.yaml"}})
	th, err := store.Thread(t.Context(), "mine")
	if err != nil || res.Thread != "mine" || th.Meta["file"] != "x.yaml" || th.Workflow != "test" {
		t.Fatalf("thread %+v, %v", th, err)
	}
	text, err := store.Blob(t.Context(), "mine", th.Definition)
	if err != nil || string(text) != "workflow: x" {
		t.Fatalf("definition %q, %v", text, err)
	}
}

func TestTypedNodesTakeTheirOptions(t *testing.T) {
	type s struct {
		Log []string `json:"log" reduce:"append"`
	}
	type p struct {
		Log []string `json:"log"`
	}
	tries := 0
	b := graph.New[s]("g", nil)
	graph.AddNode(b, "risky", func(context.Context, s) (struct{}, error) {
		tries++
		return struct{}{}, errBoom
	},
		graph.WithRetry(graph.Retry{Attempts: 2, Delay: time.Nanosecond}), graph.WithTimeout(time.Minute),
		graph.PauseBefore(), graph.PauseAfter(),
		graph.OnError(func(_ context.Context, _ s, failure error) (p, error) {
			return p{Log: []string{"handled " + failure.Error()}}, nil
		}))
	graph.AddNode(b, "side", func(context.Context, s) (p, error) { return p{Log: []string{"side"}}, nil })
	graph.AddNode(b, "both", func(_ context.Context, x s) (p, error) { return p{Log: []string{"after both"}}, nil })
	b.Edge(graph.Start, "risky")
	b.Edge(graph.Start, "side")
	b.Join("both", "risky", "side")
	b.Edge("both", graph.End)
	g, err := b.Compile()
	if err != nil {
		t.Fatal(err)
	}
	store := newStore(t)
	res, err := g.Run(t.Context(), s{}, graph.RunOptions{Store: store})
	for range 2 {
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, res.Result, state.StatusInterrupted)
		res, err = g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store})
	}
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res.Result, state.StatusCompleted)
	if d := cmp.Diff([]string{"handled boom", "side", "after both"}, res.State.Log); d != "" || tries != 2 {
		t.Fatalf("%d tries\n%s", tries, d)
	}
}
