package graph_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

func TestAnUpdateThatDoesNotFitIsRefusedLoudly(t *testing.T) {
	type opaque struct{ C chan int }
	for name, c := range map[string]struct {
		update graph.Update
		says   string
	}{
		"unknown channel":    {graph.Update{Writes: []graph.Write{{Channel: "y", Value: 1}}}, `"y"`},
		"undeclared channel": {graph.Update{Writes: []graph.Write{{Channel: "closed", Value: 1}}}, "declare"},
		"unknown type":       {graph.Update{Writes: []graph.Write{{Channel: "x", Value: map[string]any{"deep": []any{1, opaque{}}}}}}, "deep[1]"},
		"not a number":       {graph.Update{Writes: []graph.Write{{Channel: "x", Value: []any{math.NaN()}}}}, "[0]"},
		"no list":            {graph.Update{Writes: []graph.Write{{Channel: "log", Value: "one"}}}, "list"},
		"undeclared goto":    {graph.Update{Named: true, Goto: []graph.Send{{Node: "n"}}}, `"n"`},
		"undeclared end":     {graph.Update{Named: true, Goto: []graph.Send{{Node: "end"}}}, `"end"`},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			g := compile(t, graph.Spec{
				Channels: []graph.Channel{{Name: "x"}, {Name: "closed"}, {Name: "log", Append: true}},
				Nodes: []graph.Node{{
					Name: "n", Writes: []string{"x", "log"}, Retry: &graph.Retry{Attempts: 5},
					Run: func(context.Context, graph.Input) (graph.Update, error) {
						tries++
						return c.update, nil
					},
					OnError: nothing,
				}},
				Edges: edges(line("start", "n", "end")),
			})
			for _, store := range []state.Store{nil, newStore(t)} {
				tries = 0
				res := run(t, g, graph.RunOptions{Store: store})
				wantStatus(t, res, state.StatusFailed)
				var e *graph.UpdateError
				if !errors.As(res.Err, &e) || !strings.Contains(res.Err.Error(), c.says) || tries != 1 {
					t.Fatalf("%v after %d tries", res.Err, tries)
				}
			}
		})
	}
}

func TestInputThatDoesNotFitStartsNothing(t *testing.T) {
	g := compile(t, one(graph.Node{Run: nothing}, graph.Channel{Name: "x"}))
	store := newStore(t)
	for _, input := range []map[string]any{{"y": 1}, {"x": make(chan int)}} {
		_, err := g.Run(t.Context(), graph.RunOptions{Store: store, Input: input})
		var e *graph.UpdateError
		if !errors.As(err, &e) {
			t.Fatalf("%v", err)
		}
	}
	if all, err := store.Threads(t.Context(), state.ThreadFilter{}); err != nil || len(all) != 0 {
		t.Fatalf("threads %v, %v", all, err)
	}
}

func TestInputReplacesDefaults(t *testing.T) {
	g := compile(t, one(graph.Node{Run: nothing},
		graph.Channel{Name: "x", Default: 1}, graph.Channel{Name: "y", Default: 2},
		graph.Channel{Name: "log", Append: true, Default: []string{"default"}}, graph.Channel{Name: "none"}))
	for _, store := range []state.Store{nil, newStore(t)} {
		res := run(t, g, graph.RunOptions{Store: store, Input: map[string]any{"x": 9, "log": []any{"input"}}})
		want := map[string]any{"x": int64(9), "y": int64(2), "log": []any{"input"}}
		if d := cmp.Diff(want, res.State); d != "" {
			t.Fatal(d)
		}
	}
}

func TestANodeThatChangesWhatItWasGivenFailsInCheckedMode(t *testing.T) {
	for name, change := range map[string]func(in graph.Input){
		"channel": func(in graph.Input) { v, _ := in.State.Get("m"); v.(map[string]any)["k"] = "changed" },
		"item":    func(in graph.Input) { in.Item.([]any)[0] = "changed" },
	} {
		t.Run(name, func(t *testing.T) {
			s := fanSpec(func(graph.View) ([]any, error) { return []any{[]any{"item"}}, nil },
				func(_ context.Context, in graph.Input) (graph.Update, error) {
					change(in)
					return graph.Update{}, nil
				})
			s.Channels = append(s.Channels, graph.Channel{Name: "m", Default: map[string]any{"k": "old"}})
			res := run(t, compile(t, s), graph.RunOptions{})
			wantStatus(t, res, state.StatusFailed)
			var e *graph.MutationError
			if !errors.As(res.Err, &e) || len(e.Channels) != 1 {
				t.Fatalf("error %v", res.Err)
			}
		})
	}
}

func TestAppendingToASliceThatWasReadReachesNobodyElse(t *testing.T) {
	grow := func(_ context.Context, in graph.Input) (any, error) {
		v, _ := in.State.Get("log")
		list := v.([]any)
		if cap(list) != len(list) {
			t.Errorf("%s was handed room for %d behind %d items", in.Task.Node, cap(list), len(list))
		}
		_ = append(list, in.Task.Node) // must copy, for the room behind is not the node's
		return []any{in.Task.Node}, nil
	}
	g := compile(t, pair(graph.Node{Run: do("log", grow)}, graph.Node{Run: do("log", grow)},
		graph.Channel{Name: "log", Append: true, Default: []any{1, 2, 3}}))
	res := run(t, g, graph.RunOptions{})
	if d := cmp.Diff([]any{int64(1), int64(2), int64(3), "a", "b"}, res.State["log"]); d != "" {
		t.Fatal(d)
	}
}

func TestOverwritePassesTheReducerBy(t *testing.T) {
	both := func(v any, over bool) graph.Func {
		return func(context.Context, graph.Input) (graph.Update, error) {
			return graph.Update{Writes: []graph.Write{
				{Channel: "log", Value: []any{v}, Overwrite: over}, {Channel: "sum", Value: v, Overwrite: over},
			}}, nil
		}
	}
	channels := []graph.Channel{
		{Name: "log", Append: true, Default: []any{0}}, {Name: "sum", Reduce: graph.ReduceSum, Default: 10},
	}
	g := compile(t, pair(graph.Node{Run: both(1, true)}, graph.Node{Run: both(2, false)}, channels...))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	want := map[string]any{"log": []any{int64(1), int64(2)}, "sum": int64(3)}
	if d := cmp.Diff(want, res.State); d != "" {
		t.Fatal(d)
	}
	snap, err := store.Load(t.Context(), res.Thread, 0)
	if err != nil || len(snap.Logs["log"]) != 2 || string(snap.Values["sum"]) != "3" {
		t.Fatalf("stored %s, %s, %v", snap.Logs, snap.Values, err)
	}
	g = compile(t, pair(graph.Node{Run: both(1, true)}, graph.Node{Run: both(2, true)}, channels...))
	res = run(t, g, graph.RunOptions{})
	var e *graph.ConcurrentWriteError
	if !errors.As(res.Err, &e) || e.Channel != "log" {
		t.Fatalf("two overwrites: %v", res.Err)
	}
}

func TestAppendingCommitsOnlyWhatWasAdded(t *testing.T) {
	store := newStore(t)
	var sizes []int
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "log", Append: true}, {Name: "n", Default: 0}},
		Nodes: []graph.Node{{Name: "n", Run: func(_ context.Context, in graph.Input) (graph.Update, error) {
			return graph.Update{Writes: []graph.Write{{Channel: "log", Value: []any{"line"}}}}, nil
		}}},
		Edges: edges(line("start", "n")),
		Routes: []graph.Route{{From: "n", To: []string{"n", "end"}, Pick: func(_ context.Context, v graph.View) ([]string, error) {
			if l, _ := v.Get("log"); len(l.([]any)) < 50 {
				return []string{"n"}, nil
			}
			return []string{"end"}, nil
		}}},
	})
	res := run(t, g, graph.RunOptions{Store: &failing{Store: store, commit: func(c state.Commit) error {
		sizes = append(sizes, len(c.Append["log"]))
		if len(c.Set) != 0 {
			t.Errorf("a commit rewrote %v", c.Set)
		}
		return nil
	}}})
	wantStatus(t, res, state.StatusCompleted)
	for i, n := range sizes {
		if n != 1 {
			t.Fatalf("commit %d sent %d items", i, n)
		}
	}
	if len(sizes) != 50 || len(res.State["log"].([]any)) != 50 {
		t.Fatalf("%d commits, %d items", len(sizes), len(res.State["log"].([]any)))
	}
}
