package graph_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"junction/graph"
	"junction/state"
	"junction/state/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errBoom is what failing nodes return.
var errBoom = errors.New("boom")

// do wraps a function of the state as a node that writes one channel.
func do(channel string, f func(ctx context.Context, in graph.Input) (any, error)) graph.Func {
	return func(ctx context.Context, in graph.Input) (graph.Update, error) {
		v, err := f(ctx, in)
		if err != nil {
			return graph.Update{}, err
		}
		return graph.Update{Writes: []graph.Write{{Channel: channel, Value: v}}}, nil
	}
}

// put is a node that writes a constant.
func put(channel string, v any) graph.Func {
	return do(channel, func(context.Context, graph.Input) (any, error) { return v, nil })
}

// nothing is a node that writes nothing.
func nothing(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, nil }

// edges reads chains of names as edges.
func edges(chains ...[]string) []graph.Edge {
	var es []graph.Edge
	for _, c := range chains {
		for i := range len(c) - 1 {
			es = append(es, graph.Edge{From: []string{c[i]}, To: c[i+1]})
		}
	}
	return es
}

func line(names ...string) []string { return names }

func compile(t testing.TB, s graph.Spec) *graph.Graph {
	t.Helper()
	if s.Name == "" {
		s.Name = "test"
	}
	g, err := graph.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func run(t testing.TB, g *graph.Graph, o graph.RunOptions) graph.Result {
	t.Helper()
	o.Check = true
	res, err := g.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func resume(t testing.TB, g *graph.Graph, thread string, o graph.RunOptions) graph.Result {
	t.Helper()
	o.Check = true
	res, err := g.Resume(t.Context(), thread, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func wantStatus(t testing.TB, res graph.Result, want state.Status) {
	t.Helper()
	if res.Status != want {
		t.Fatalf("status %q, want %q (error: %v)", res.Status, want, res.Err)
	}
}

// counter counts how often each name ran.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
	return c.n[name]
}

func (c *counter) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

func newStore(t testing.TB) state.Store {
	s := memory.New(nil)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
