package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

func TestALineRunsNodeAfterNode(t *testing.T) {
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "n"}},
		Nodes: []graph.Node{
			{Name: "one", Run: put("n", 1)},
			{Name: "two", Run: do("n", func(_ context.Context, in graph.Input) (any, error) {
				n, _ := in.State.Get("n")
				return n.(int64) + 1, nil
			})},
		},
		Edges: edges(line("start", "one", "two", "end")),
	})
	for _, store := range []state.Store{nil, newStore(t)} {
		res := run(t, g, graph.RunOptions{Store: store})
		wantStatus(t, res, state.StatusCompleted)
		if res.State["n"] != int64(2) || res.Step != 2 || res.Seq != 3 {
			t.Fatalf("state %v after %d steps at %d", res.State, res.Step, res.Seq)
		}
	}
}

func fanSpec(items func(graph.View) ([]any, error), review graph.Func) graph.Spec {
	return graph.Spec{
		Channels: []graph.Channel{{Name: "found", Append: true}, {Name: "done"}},
		Nodes: []graph.Node{
			{Name: "list", Run: nothing},
			{Name: "review", Each: items, Run: review},
			{Name: "sum", Run: put("done", true)},
		},
		Edges: edges(line("start", "list", "review", "sum", "end")),
	}
}

func TestFanOutRunsOneTaskAnItemAndFoldsInItemOrder(t *testing.T) {
	items := []any{"a", "b", "c", "d", "e"}
	gate := make(chan struct{})
	g := compile(t, fanSpec(
		func(graph.View) ([]any, error) { return items, nil },
		do("found", func(_ context.Context, in graph.Input) (any, error) {
			if in.Task.Index == len(items)-1 {
				close(gate) // the last one starts, and finishes, first
			}
			<-gate
			return []any{fmt.Sprintf("%d:%v", in.Task.Index, in.Item)}, nil
		})))
	for _, store := range []state.Store{nil, newStore(t)} {
		gate = make(chan struct{})
		res := run(t, g, graph.RunOptions{Store: store})
		wantStatus(t, res, state.StatusCompleted)
		want := []any{"0:a", "1:b", "2:c", "3:d", "4:e"}
		if d := cmp.Diff(want, res.State["found"]); d != "" {
			t.Fatal(d)
		}
	}
}

func TestAnEmptyFanOutIsDoneAtOnce(t *testing.T) {
	g := compile(t, fanSpec(
		func(graph.View) ([]any, error) { return nil, nil },
		func(context.Context, graph.Input) (graph.Update, error) { panic("no item, no task") }))
	for _, store := range []state.Store{nil, newStore(t)} {
		res := run(t, g, graph.RunOptions{Store: store})
		wantStatus(t, res, state.StatusCompleted)
		if res.State["done"] != true || res.Step != 2 {
			t.Fatalf("state %v after %d supersteps", res.State, res.Step)
		}
	}
}

func TestAJoinRunsOnceAfterAllItsPredecessors(t *testing.T) {
	var runs counter
	count := func(name string) graph.Func {
		return func(context.Context, graph.Input) (graph.Update, error) {
			runs.add(name)
			return graph.Update{}, nil
		}
	}
	var from []string
	g := compile(t, graph.Spec{
		Nodes: []graph.Node{
			{Name: "short", Run: count("short")},
			{Name: "long1", Run: count("long1")},
			{Name: "long2", Run: count("long2")},
			{Name: "join", Run: func(_ context.Context, in graph.Input) (graph.Update, error) {
				runs.add("join")
				from = in.Task.From
				return graph.Update{}, nil
			}},
		},
		Edges: append(edges(line("start", "short"), line("start", "long1", "long2"), line("join", "end")),
			graph.Edge{From: []string{"short", "long2"}, To: "join"}),
	})
	for _, store := range []state.Store{nil, newStore(t)} {
		runs = counter{}
		wantStatus(t, run(t, g, graph.RunOptions{Store: store}), state.StatusCompleted)
		if runs.of("join") != 1 || !slices.Equal(from, []string{"long2", "short"}) {
			t.Fatalf("join ran %d times, from %v", runs.of("join"), from)
		}
	}
}

func TestARouteLeadsToWhatItPicks(t *testing.T) {
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "n", Default: 0}, {Name: "odd"}, {Name: "even"}},
		Nodes: []graph.Node{
			{Name: "inc", Run: do("n", func(_ context.Context, in graph.Input) (any, error) {
				n, _ := in.State.Get("n")
				return n.(int64) + 1, nil
			})},
			{Name: "stop", Run: put("odd", true)},
		},
		Edges: edges(line("start", "inc"), line("stop", "end")),
		Routes: []graph.Route{{From: "inc", To: []string{"inc", "stop"}, Pick: func(_ context.Context, v graph.View) ([]string, error) {
			if n, _ := v.Get("n"); n.(int64) < 5 {
				return []string{"inc"}, nil
			}
			return []string{"stop"}, nil
		}}},
	})
	res := run(t, g, graph.RunOptions{Store: newStore(t)})
	wantStatus(t, res, state.StatusCompleted)
	if res.State["n"] != int64(5) || res.State["odd"] != true {
		t.Fatalf("state %v", res.State)
	}
}
