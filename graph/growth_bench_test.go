package graph_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"junction/graph"
)

// looping is a node that appends 1 KiB to a channel in every superstep and goes
// on until the given number of them.
func looping(tb testing.TB, supersteps int) *graph.Graph {
	payload := strings.Repeat("x", 1022) // with its quotes 1 KiB of JSON
	return compile(tb, graph.Spec{
		Name:           "looping",
		RecursionLimit: supersteps + 1,
		Channels:       []graph.Channel{{Name: "log", Append: true}, {Name: "round", Default: 0}},
		Nodes: []graph.Node{{Name: "work", Goto: []string{"work", graph.End}, Run: func(_ context.Context, in graph.Input) (graph.Update, error) {
			round, _ := in.State.Get("round")
			n := round.(int64) + 1
			next := "work"
			if n == int64(supersteps) {
				next = graph.End
			}
			return graph.Update{
				Writes: []graph.Write{{Channel: "log", Value: []any{payload}}, {Channel: "round", Value: n}},
				Goto:   []graph.Send{{Node: next}}, Named: true,
			}, nil
		}}},
		Edges: edges([]string{graph.Start, "work"}),
	})
}

// databaseOf is the size of a database in which the graph ran once.
func databaseOf(tb testing.TB, supersteps int) int64 {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "state.db")
	store := newSQLite(tb, path)
	res, err := looping(tb, supersteps).Run(context.WithoutCancel(tb.Context()), graph.RunOptions{Store: store})
	if err != nil || res.Step != supersteps {
		tb.Fatal(err, res.Err, res.Step)
	}
	closeStore(tb, store) // moves the write-ahead log into the file
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

// BenchmarkAppendGrowth runs a workflow whose supersteps append 1 KiB each and
// reports what each adds to the database at 100 and at 1,000 of them.
func BenchmarkAppendGrowth(b *testing.B) {
	for _, supersteps := range []int{100, 1000} {
		b.Run(fmt.Sprintf("supersteps=%d", supersteps), func(b *testing.B) {
			var grew int64
			for b.Loop() {
				grew = databaseOf(b, supersteps) - databaseOf(b, 1)
			}
			b.ReportMetric(float64(grew)/float64(supersteps-1), "B/step")
			b.ReportMetric(float64(grew)/float64(supersteps-1)/1024, "×payload")
		})
	}
}
