package router

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"junction/health"
	"junction/state"
)

// everyone is n servers that offer "work" in a language, with a depth: discovery and
// caller in one.
type everyone struct{ snapshot *Snapshot }

func newEveryone(n int) everyone {
	s := &Snapshot{Version: 1}
	for i := range n {
		id := fmt.Sprintf("server-%04d", i)
		s.Servers = append(s.Servers, &Server{ID: id, Name: id, Dial: Dial{URL: "http://" + id}, Source: "file", Offers: []Offer{{
			Capability: "work", Tool: "do", Effect: state.Safe,
			Attributes: map[string][]string{"language": {"go", "rust"}, "review_depth": {[]string{"shallow", "deep"}[i%2]}},
		}}})
	}
	return everyone{s}
}

func (e everyone) Snapshot() *Snapshot         { return e.snapshot }
func (everyone) Refresh(context.Context) error { return nil }
func (everyone) Describe(context.Context, *Server) (*Description, error) {
	return &Description{Tools: []Tool{{Name: "do"}}}, nil
}
func (everyone) Call(context.Context, *Server, ToolCall) (*ToolResult, error) {
	return &ToolResult{}, nil
}

var needy = state.Call{Capability: "work", Need: map[string]any{"language": "go"}, Prefer: map[string]any{"review_depth": "deep"}}

// decider is a hop that decides among n servers of which something is known.
func decider(tb testing.TB, n int) *hop {
	all := newEveryone(n)
	r := New(all, all, &Options{Seed: 1})
	tb.Cleanup(r.Close)
	h := &hop{r: r, call: needy, what: "work", asking: r.pools.asking(&needy), deciding: true, max: time.Minute}
	p := h.gather(tb.Context())
	if len(p.entries) != n {
		tb.Fatalf("%d candidates of %d", len(p.entries), n)
	}
	for i := range p.entries {
		for k := range 5 {
			p.entries[i].series.Begin(0)
			p.entries[i].series.End(time.Now(), health.Success, time.Duration(i%17+k+1)*time.Millisecond)
		}
	}
	return h
}

// decideOnce is a hop's decision up to its record: who can do it, what speaks against
// them in this hop, and the pick.
func (h *hop) decideOnce(tb testing.TB, b *ballot, now time.Time) *pool {
	h.asking = h.r.pools.asking(&h.call)
	p, err := h.bar(tb.Context(), h.gather(tb.Context()))
	if err != nil {
		tb.Fatal(err)
	}
	pick(b, p.entries, policy{h.r.options.Score, h.r.options.Transform, h.r.options.Picker}, h.seedNext(), now)
	return p
}

// BenchmarkDecide is a whole decision with matching, and what it is made of: alone,
// and while eight goroutines record outcomes.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, recorders := range []int{0, 8} {
			b.Run(fmt.Sprintf("%d/recorders=%d", n, recorders), func(b *testing.B) {
				h, ballot := decider(b, n), new(ballot)
				defer record(h.gather(b.Context()).entries, recorders)()
				tail := newTail()
				b.ReportAllocs()
				for b.Loop() {
					begun := time.Now()
					h.decideOnce(b, ballot, begun)
					tail.note(begun)
				}
				tail.report(b)
			})
		}
	}
}

// BenchmarkDecideAndRecord is the whole of a decision that a hop stores, from what the
// call asks to the text of its record.
func BenchmarkDecideAndRecord(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, tail := decider(b, n), newTail()
			defer record(h.gather(b.Context()).entries, 8)()
			b.ReportAllocs()
			for b.Loop() {
				begun := time.Now()
				h.asking = h.r.pools.asking(&h.call)
				p, err := h.bar(b.Context(), h.gather(b.Context()))
				if err == nil {
					h.draw(p)
					_, err = encodeDecision(h.decision)
				}
				if err != nil {
					b.Fatal(err)
				}
				tail.note(begun)
			}
			tail.report(b)
		})
	}
}

// BenchmarkDecideParts is what the parts of a decision cost.
func BenchmarkDecideParts(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		h, ballot := decider(b, n), new(ballot)
		p := h.decideOnce(b, ballot, time.Now())
		d, _ := h.r.decide(ballot, p, "work", 1)
		scores, scratch := make([]float64, n), make([]float64, n)
		for _, part := range []struct {
			name string
			do   func()
		}{
			{"match anew", func() { h.r.newPool(h.r.discovery.Snapshot(), h.known(b), &h.call) }},
			{"match", func() { h.asking = h.r.pools.asking(&h.call); h.gather(b.Context()) }},
			{"score", func() { health.Product{}.Rate(ballot.members, scores, scratch) }},
			{"pick", func() {
				pick(ballot, p.entries, policy{h.r.options.Score, h.r.options.Transform, h.r.options.Picker}, h.seedNext(), time.Now())
			}},
			{"record", func() { h.r.decide(ballot, p, "work", 1) }},
			{"encode", func() {
				if _, err := encodeDecision(d); err != nil {
					b.Fatal(err)
				}
			}},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, part.name), func(b *testing.B) {
				tail := newTail()
				b.ReportAllocs()
				for b.Loop() {
					begun := time.Now()
					part.do()
					tail.note(begun)
				}
				tail.report(b)
			})
		}
	}
}

func (h *hop) known(tb testing.TB) []*known {
	return h.r.roster.gather(tb.Context(), h.r.discovery.Snapshot().Servers, func(*known) bool { return true }, time.Minute).all
}

func TestADecisionWithMatchingAllocatesNothingBeforeItsRecord(t *testing.T) {
	h, b := decider(t, 100), new(ballot)
	if n := leastAllocations(func() { h.decideOnce(t, b, time.Now()) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	p := h.decideOnce(t, b, time.Now())
	var d Decision
	if n := leastAllocations(func() { d, _ = h.r.decide(b, p, "work", 1) }); n > 2 {
		t.Errorf("%v allocations for the data of a decision, want 2: the candidates and their terms", n)
	}
	if n := leastAllocations(func() {
		if _, err := encodeDecision(d); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations for the record, want 1", n)
	}
}

// leastAllocations is of many runs the one with the fewest: under the race detector a
// pool drops some of what it is given.
func leastAllocations(do func()) float64 {
	least := testing.AllocsPerRun(1, do)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, do))
	}
	return least
}

// tail keeps how long single decisions took.
type tail []time.Duration

func newTail() *tail { t := make(tail, 0, 1<<16); return &t }

func (t *tail) note(begun time.Time) {
	if len(*t) < cap(*t) {
		*t = append(*t, time.Since(begun))
	}
}

func (t *tail) report(b *testing.B) {
	slices.Sort(*t)
	b.ReportMetric(float64((*t)[len(*t)/2].Nanoseconds()), "P50-ns")
	b.ReportMetric(float64((*t)[len(*t)*99/100].Nanoseconds()), "P99-ns")
}
