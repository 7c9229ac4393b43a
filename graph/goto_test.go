package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

func TestANodeNamesItsSuccessorsItself(t *testing.T) {
	named := func(sends ...graph.Send) graph.Func {
		return func(context.Context, graph.Input) (graph.Update, error) {
			return graph.Update{Named: true, Goto: sends}, nil
		}
	}
	seen := do("seen", func(_ context.Context, in graph.Input) (any, error) {
		return []any{fmt.Sprintf("%s/%d:%v", in.Task.Node, in.Task.Index, in.Item)}, nil
	})
	for name, c := range map[string]struct {
		run  graph.Func
		want []any
	}{
		"in place of its edges": {named(graph.Send{Node: "b"}), []any{"b/0:<nil>"}},
		"none":                  {named(), []any{}},
		"the end":               {named(graph.Send{Node: "end"}), []any{}},
		"with items":            {named(graph.Send{Node: "c", Item: "x"}, graph.Send{Node: "b", Item: 7}, graph.Send{Node: "c", Item: "y"}), []any{"b/0:7", "c/0:x", "c/1:y"}},
		"twice is once":         {named(graph.Send{Node: "b"}, graph.Send{Node: "b"}), []any{"b/0:<nil>"}},
		"besides its edges": {func(context.Context, graph.Input) (graph.Update, error) {
			return graph.Update{Goto: []graph.Send{{Node: "c", Item: 1}}}, nil
		}, []any{"b/0:<nil>", "c/0:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := compile(t, graph.Spec{
				Channels: []graph.Channel{{Name: "seen", Append: true}},
				Nodes: []graph.Node{
					{Name: "a", Run: c.run, Goto: []string{"b", "c", "end"}},
					{Name: "b", Run: seen}, {Name: "c", Run: seen},
				},
				Edges: edges(line("start", "a", "b", "end"), line("c", "end")),
			})
			for _, store := range []state.Store{nil, newStore(t)} {
				res := run(t, g, graph.RunOptions{Store: store})
				wantStatus(t, res, state.StatusCompleted)
				if d := cmp.Diff(c.want, res.State["seen"]); d != "" {
					t.Fatal(d)
				}
			}
		})
	}
}

func TestANodeWithoutEdgesMustNameASuccessor(t *testing.T) {
	g := compile(t, graph.Spec{
		Nodes: []graph.Node{{Name: "a", Run: nothing, Goto: []string{"end"}}},
		Edges: edges(line("start", "a")),
	})
	res := run(t, g, graph.RunOptions{})
	var e *graph.UpdateError
	if !errors.As(res.Err, &e) {
		t.Fatalf("error %v", res.Err)
	}
}

func TestSentItemsSurviveAResume(t *testing.T) {
	fails := true
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "got", Append: true}},
		Nodes: []graph.Node{
			{Name: "a", Goto: []string{"b"}, Run: func(context.Context, graph.Input) (graph.Update, error) {
				return graph.Update{Named: true, Goto: []graph.Send{{Node: "b", Item: map[string]any{"n": 1}}, {Node: "b", Item: "two"}}}, nil
			}},
			{Name: "z", Run: func(context.Context, graph.Input) (graph.Update, error) {
				if fails {
					return graph.Update{}, errBoom
				}
				return graph.Update{}, nil
			}},
			{Name: "b", Run: do("got", func(_ context.Context, in graph.Input) (any, error) { return []any{in.Item}, nil })},
		},
		Edges: edges(line("start", "a"), line("start", "z", "end"), line("b", "end")),
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	fails = false
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if d := cmp.Diff([]any{map[string]any{"n": int64(1)}, "two"}, res.State["got"]); d != "" {
		t.Fatal(d)
	}
}

func TestARouteThatPicksWhatItMayNotFailsTheRun(t *testing.T) {
	s := one(graph.Node{Run: nothing})
	s.Edges = edges(line("start", "n"))
	for name, p := range map[string]func(context.Context, graph.View) ([]string, error){
		"elsewhere": func(context.Context, graph.View) ([]string, error) { return []string{"n"}, nil },
		"error":     func(context.Context, graph.View) ([]string, error) { return nil, errBoom },
		"panic":     func(context.Context, graph.View) ([]string, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			s.Routes = []graph.Route{{From: "n", To: []string{"end"}, Pick: p}}
			store := newStore(t)
			res := run(t, compile(t, s), graph.RunOptions{Store: store})
			wantStatus(t, res, state.StatusFailed)
			snap, err := store.Load(t.Context(), res.Thread, 0)
			if err != nil || len(snap.Pending) != 1 {
				t.Fatalf("pending %v, %v: the node's writes must be kept", snap.Pending, err)
			}
		})
	}
}

func TestEventsTellTheRunInOrder(t *testing.T) {
	var mu sync.Mutex
	var got []string
	inside := false
	g := compile(t, pair(
		graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			return graph.Update{}, graph.Emit(ctx, "progress")
		}},
		graph.Node{Run: nothing}))
	res := run(t, g, graph.RunOptions{Store: newStore(t), OnEvent: func(e graph.Event) {
		mu.Lock()
		if inside {
			t.Error("two events at once")
		}
		inside = true
		mu.Unlock()
		if e.Time.IsZero() || e.Thread == "" {
			t.Errorf("event %+v", e)
		}
		got = append(got, fmt.Sprintf("%s %s %d", e.Kind, e.Node, e.Step))
		mu.Lock()
		inside = false
		mu.Unlock()
	}})
	wantStatus(t, res, state.StatusCompleted)
	if len(got) != 12 || got[0] != "step  1" || got[11] != "end  2" {
		t.Fatalf("events %q", got)
	}
	slices.Sort(got[1:6]) // the two tasks' events come in any order among themselves
	want := []string{"step  1", "custom a 1", "task a 1", "task b 1", "task_done a 1", "task_done b 1",
		"checkpoint  1", "step  2", "task z 2", "task_done z 2", "checkpoint  2", "end  2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	if err := graph.Emit(t.Context(), 1); err == nil {
		t.Fatal("Emit outside of a node must be an error")
	}
	if _, err := graph.Ask(t.Context(), 1); err == nil {
		t.Fatal("Ask outside of a node must be an error")
	}
}
