package graph_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"junction/graph"
	"junction/state"
)

// tenNodes is a line of ten nodes, each writing the next number.
func tenNodes(b *testing.B) *graph.Graph { return tenNodesAnd(b, func() {}) }

// tenNodesAnd is tenNodes with something done first in each node.
func tenNodesAnd(b *testing.B, first func()) *graph.Graph {
	s := graph.Spec{Channels: []graph.Channel{{Name: "n", Default: 0}}}
	chain := []string{"start"}
	for i := range 10 {
		name := fmt.Sprintf("n%d", i)
		chain = append(chain, name)
		s.Nodes = append(s.Nodes, graph.Node{Name: name, Run: func(_ context.Context, in graph.Input) (graph.Update, error) {
			first()
			n, _ := in.State.Get("n")
			return graph.Update{Writes: []graph.Write{{Channel: "n", Value: n.(int64) + 1}}}, nil
		}})
	}
	s.Edges = edges(append(chain, "end"))
	return compile(b, s)
}

func benchmarkStores(b *testing.B, run func(b *testing.B, store state.Store)) {
	b.Run("none", func(b *testing.B) { run(b, nil) })
	b.Run("memory", func(b *testing.B) { run(b, newStore(b)) })
	b.Run("sqlite", func(b *testing.B) {
		store := newSQLite(b, filepath.Join(b.TempDir(), "state.db"))
		defer closeStore(b, store)
		run(b, store)
	})
}

func BenchmarkSuperstep(b *testing.B) {
	g := tenNodes(b)
	benchmarkStores(b, func(b *testing.B, store state.Store) {
		b.ReportAllocs()
		for b.Loop() {
			res, err := g.Run(context.WithoutCancel(b.Context()), graph.RunOptions{Store: store})
			if err != nil || res.State["n"] != int64(10) {
				b.Fatal(err, res.State)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/superstep")
	})
}

func BenchmarkFanOut100(b *testing.B) {
	items := make([]any, 100)
	for i := range items {
		items[i] = int64(i)
	}
	s := fanSpec(func(graph.View) ([]any, error) { return items, nil },
		func(_ context.Context, in graph.Input) (graph.Update, error) {
			return graph.Update{Writes: []graph.Write{{Channel: "found", Value: []any{in.Item}}}}, nil
		})
	g := compile(b, s)
	benchmarkStores(b, func(b *testing.B, store state.Store) {
		b.ReportAllocs()
		for b.Loop() {
			res, err := g.Run(context.WithoutCancel(b.Context()), graph.RunOptions{Store: store})
			if err != nil || len(res.State["found"].([]any)) != 100 {
				b.Fatal(err, res.State)
			}
		}
	})
}
