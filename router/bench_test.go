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

// BenchmarkRoute is a decision alone, with everything that a hop decides by:
// discovery's snapshot, the pool, the pick and the decision as data.
func BenchmarkRoute(b *testing.B) {
	for _, servers := range []int{1, 3, 100, 1000} {
		b.Run(fmt.Sprintf("%d servers", servers), func(b *testing.B) {
			r, done := largeFleet(servers)
			defer done()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Route(b.Context(), work); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func largeFleet(servers int) (*router.Router, func()) {
	f := newFleet()
	for i := range servers {
		f.add(fmt.Sprintf("s%04d", i), nil)
	}
	r := router.New(f, echo{f}, &router.Options{Seed: 1})
	return r, r.Close
}

func TestAHopOverAHundredServersAllocatesLittleMoreThanOverAFew(t *testing.T) {
	allocations := func(servers int) float64 {
		r, done := largeFleet(servers)
		defer done()
		return testing.AllocsPerRun(50, func() {
			if _, err := r.Do(t.Context(), work); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocations(recordedOfMany), allocations(100)
	if many > few+10 {
		t.Errorf("%v allocations with 100 servers, %v with as many as a large decision records", many, few)
	}
}

// recordedOfMany is how many candidates the record of a large decision holds.
const recordedOfMany = 9
