package graph_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

func TestReducers(t *testing.T) {
	type count int32
	for name, c := range map[string]struct {
		reducer    string
		old, write any
		want       any // nil: an error
	}{
		"sum of integers":           {"sum", int64(1), int64(2), int64(3)},
		"sum beyond int64":          {"sum", int64(math.MaxInt64), int64(1), nil},
		"sum below int64":           {"sum", int64(math.MinInt64), int64(-1), nil},
		"sum keeps exact integers":  {"sum", int64(1 << 60), int64(1), int64(1<<60 + 1)},
		"sum of fractions":          {"sum", 0.5, 0.25, 0.75},
		"sum of mixed numbers":      {"sum", int64(1), 0.5, 1.5},
		"sum of a named type":       {"sum", count(1), count(2), count(3)},
		"sum beyond a narrow type":  {"sum", int8(100), int8(100), nil},
		"sum of unsigned":           {"sum", uint8(1), uint8(2), uint8(3)},
		"sum beyond unsigned":       {"sum", uint64(math.MaxUint64), uint64(1), nil},
		"sum to infinity":           {"sum", math.MaxFloat64, math.MaxFloat64, nil},
		"sum of text":               {"sum", int64(1), "2", nil},
		"max":                       {"max", int64(1), int64(2), int64(2)},
		"max keeps the old":         {"max", 2.5, int64(2), 2.5},
		"min":                       {"min", int64(1), -0.5, -0.5},
		"min of unsigned":           {"min", uint8(3), uint8(2), uint8(2)},
		"max of text":               {"max", "a", "b", nil},
		"merge":                     {"merge", map[string]any{"a": 1, "b": 1}, map[string]any{"b": 2}, map[string]any{"a": 1, "b": 2}},
		"merge of typed maps":       {"merge", map[string]int{"a": 1}, map[string]int{"b": 2}, map[string]int{"a": 1, "b": 2}},
		"merge of something else":   {"merge", map[string]any{}, "b", nil},
		"merge of two other things": {"merge", 1, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			reduce, ok := graph.ReducerNamed(c.reducer)
			if !ok {
				t.Fatal("no such reducer")
			}
			got, err := reduce(c.old, c.write)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("%v, %v", got, err)
			}
			if d := cmp.Diff(c.want, got); err == nil && d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestWritesAreFoldedInTaskOrderWhateverFinishesFirst(t *testing.T) {
	concat := func(old, write any) (any, error) { return fmt.Sprint(old, write), nil }
	for range 20 {
		s := fanSpec(func(graph.View) ([]any, error) { return []any{1, 2, 3, 4, 5, 6, 7, 8}, nil },
			do("text", func(_ context.Context, in graph.Input) (any, error) { return fmt.Sprint(in.Item), nil }))
		s.Channels = append(s.Channels, graph.Channel{Name: "text", Reduce: concat})
		res := run(t, compile(t, s), graph.RunOptions{MaxParallel: -1})
		if res.State["text"] != "12345678" {
			t.Fatalf("folded to %v", res.State["text"])
		}
	}
}

func TestAReducersFaultIsTheRunsFailure(t *testing.T) {
	for name, reduce := range map[string]graph.Reducer{
		"error":      func(any, any) (any, error) { return nil, errBoom },
		"panic":      func(any, any) (any, error) { panic("boom") },
		"wrong type": func(any, any) (any, error) { return make(chan int), nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := compile(t, one(graph.Node{Run: put("x", 1)}, graph.Channel{Name: "x", Default: 0, Reduce: reduce}))
			store := newStore(t)
			res := run(t, g, graph.RunOptions{Store: store})
			wantStatus(t, res, state.StatusFailed)
			th, err := store.Thread(t.Context(), res.Thread)
			if err != nil || th.Failure.Node != "n" || th.Failure.Code != "invalid_update" {
				t.Fatalf("failure %+v, %v", th.Failure, err)
			}
		})
	}
}
