package router_test

import (
	"context"
	"fmt"
	"testing"

	"junction/router"
	"junction/state"
)

// BenchmarkHop is what the router adds to a call: everything but the wire.
func BenchmarkHop(b *testing.B) {
	for _, servers := range []int{1, 3, 100} {
		for _, e := range []state.Effect{state.Safe, state.Conditional} {
			b.Run(fmt.Sprintf("%d servers/%s", servers, e), func(b *testing.B) {
				f := newFleet()
				for i := range servers {
					f.add(fmt.Sprintf("s%03d", i), effect(e))
				}
				r := router.New(f, echo{f}, &router.Options{Seed: 1})
				defer r.Close()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.Do(b.Context(), work); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// echo answers at once and remembers nothing.
type echo struct{ *fleet }

func (echo) Call(_ context.Context, _ *router.Server, c router.ToolCall) (*router.ToolResult, error) {
	return &router.ToolResult{Structured: c.Arguments}, nil
}
