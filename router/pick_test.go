package router

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/health"
	"junction/state"
)

func entriesOf(n int) []entry {
	t, now := health.NewTracker(), time.Now()
	all := make([]entry, n)
	for i := range all {
		id := fmt.Sprintf("server-%04d", i)
		s := &Server{ID: id, Name: id}
		all[i] = entry{server: s, offer: &Offer{Tool: "do"}, series: t.Series(id, "work", now), match: 1,
			declared: health.Declared{MaxConcurrent: 1000, LatencyP95: time.Second}}
		for k := range 5 {
			all[i].series.Begin(0)
			all[i].series.End(now, health.Success, time.Duration(i%17+k+1)*time.Millisecond)
		}
	}
	return all
}

// fixed is a score that says what it is told.
type fixed []float64

func (fixed) Name() string                               { return "fixed" }
func (fixed) Windows() bool                              { return false }
func (f fixed) Rate(_ []health.Member, out, _ []float64) { copy(out, f) }
func (fixed) TermNames() []string                        { return []string{"it"} }
func (f fixed) Terms(_ []health.Member, of []int, out, _ []float64) {
	for n, i := range of {
		out[n] = f[i]
	}
}

func TestSharesFollowTheTransform(t *testing.T) {
	for _, c := range []struct {
		name      string
		scores    fixed
		transform Transform
		want      []float64
	}{
		{"excess over 0.65", fixed{0.92, 0.85, 0.78}, Excess(0), []float64{0.45, 0.3333, 0.2167}},
		{"excess where none exceeds", fixed{0.6, 0.3, 0.1}, Excess(0), []float64{0.6, 0.3, 0.1}},
		{"excess leaves out who is below", fixed{0.95, 0.8, 0.5}, Excess(0), []float64{0.6667, 0.3333, 0}},
		{"plain", fixed{0.92, 0.85, 0.78}, Transform{}, []float64{0.3608, 0.3333, 0.3059}},
		{"power 2", fixed{0.8, 0.4, 0.4}, Power(0), []float64{0.6667, 0.1667, 0.1667}},
		{"all zero is even", fixed{0, 0, 0}, Plain(), []float64{0.3333, 0.3333, 0.3333}},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, b := entriesOf(3), new(ballot)
			const draws = 20000
			counts := make([]float64, 3)
			for i := range draws {
				pick(b, entries, policy{c.scores, c.transform, WeightedRandom{}}, mix(uint64(i)), time.Now())
				counts[b.picked]++
			}
			for i, want := range c.want {
				if got := counts[i] / draws; math.Abs(got-want) > 0.012 {
					t.Errorf("server %d got %.3f of the calls, want %.3f", i, got, want)
				}
			}
		})
	}
}

func TestPreferencesRaiseAndNeverForbid(t *testing.T) {
	entries, b := entriesOf(2), new(ballot)
	for i, match := range []float64{1, 0} {
		entries[i].match, entries[i].prefers = match, true
	}
	counts := make([]float64, 2)
	for i := range 11000 {
		pick(b, entries, policy{fixed{1, 1}, Plain(), WeightedRandom{}}, mix(uint64(i)), time.Now())
		counts[b.picked]++
	}
	if ratio := counts[0] / counts[1]; ratio < 8.5 || ratio > 11.5 {
		t.Errorf("the preferred server got %.1f times the calls, want about 10", ratio)
	}
}

func TestWhoIsDrawnFrom(t *testing.T) {
	now := time.Now()
	eject := func(e *entry) {
		for range 3 {
			e.series.Observe(now, health.Failure, 0)
		}
	}
	try := func(e *entry) { e.barred = tried }
	bar := func(e *entry) { e.barred = excluded }
	rest := func(e *entry) { e.series.Rest(now, now.Add(time.Minute)) }
	fill := func(e *entry) { e.declared.MaxConcurrent = 1; e.series.Begin(0) }
	both := func(f, g func(*entry)) func(*entry) { return func(e *entry) { f(e); g(e) } }
	nothing := func(*entry) {}
	for _, c := range []struct {
		name   string
		states []func(*entry)
		level  standing
		from   []int
	}{
		{"all in order", []func(*entry){nothing, nothing}, fresh, []int{0, 1}},
		{"an ejected one is left out", []func(*entry){eject, nothing, nothing}, fresh, []int{1, 2}},
		{"all ejected: all are tried", []func(*entry){eject, eject, eject}, ejected, []int{0, 1, 2}},
		{"a tried one waits for the others", []func(*entry){try, nothing}, fresh, []int{1}},
		{"a tried one before an ejected one", []func(*entry){try, eject}, again, []int{0}},
		{"an ejected one before one that is ejected and tried", []func(*entry){both(eject, try), eject}, ejected, []int{1}},
		{"a saturated one is passed over", []func(*entry){fill, nothing}, fresh, []int{1}},
		{"a resting one is passed over, even for an ejected one", []func(*entry){rest, eject}, ejected, []int{1}},
		{"nobody: all saturated or resting", []func(*entry){fill, rest}, drawable, nil},
		{"nobody: all excluded", []func(*entry){bar, bar}, drawable, nil},
		{"nobody at all", nil, drawable, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, b := entriesOf(len(c.states)), new(ballot)
			for i, change := range c.states {
				change(&entries[i])
			}
			seen := map[int]bool{}
			for i := range 200 {
				pick(b, entries, policy{health.Product{}, Plain(), WeightedRandom{}}, mix(uint64(i)), now)
				if b.picked >= 0 {
					seen[b.picked] = true
				}
			}
			if b.level != c.level {
				t.Errorf("level %d, want %d", b.level, c.level)
			}
			for i := range c.states {
				if seen[i] != slices.Contains(c.from, i) {
					t.Errorf("server %d drawn: %v, want one of %v", i, seen[i], c.from)
				}
			}
		})
	}
}

func TestARecordedDecisionCanBeMadeAgain(t *testing.T) {
	r := New(discoverNothing{}, nil, &Options{Seed: 1})
	defer r.Close()
	for n := range recordAll + 1 {
		p := &pool{entries: entriesOf(n)}
		b := new(ballot)
		pick(b, p.entries, policy{health.Product{}, Plain(), WeightedRandom{}}, uint64(n), time.Now())
		d, _ := r.decide(b, p, "work", uint64(n))
		if got := ReplayPick(d); got != d.Picked {
			t.Fatalf("%d candidates: replayed %q, picked %q", n, got, d.Picked)
		}
	}
}

func TestALargeDecisionIsRecordedInShort(t *testing.T) {
	r := New(discoverNothing{}, nil, &Options{Seed: 1})
	defer r.Close()
	p := &pool{entries: entriesOf(40)}
	for i := range 40 {
		p.rejected = append(p.rejected, Rejection{Server: fmt.Sprint(i), Reason: []string{"need", "capability"}[i%2]})
	}
	p.reasons = countReasons(p.rejected)
	b := new(ballot)
	pick(b, p.entries, policy{health.Product{}, Plain(), WeightedRandom{}}, 3, time.Now())
	d, _ := r.decide(b, p, "work", 3)
	if len(d.Candidates) > recordHeaviest+1 || len(d.Candidates)+d.Omitted != 40 {
		t.Errorf("%d candidates recorded and %d omitted of 40", len(d.Candidates), d.Omitted)
	}
	if !slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Server == d.Picked }) {
		t.Error("the pick is not among the candidates recorded")
	}
	least := math.Inf(1)
	recorded := map[string]bool{}
	for _, c := range d.Candidates {
		recorded[c.Server] = true
		if c.Server != d.Picked {
			least = min(least, c.Weight)
		}
	}
	for i, e := range p.entries {
		if !recorded[e.server.ID] && b.weights[i] > least {
			t.Errorf("%s weighs %v and is not recorded; one with %v is", e.server.ID, b.weights[i], least)
		}
	}
	if len(d.Rejected) != 0 || d.Reasons["need"] != 20 || d.Reasons["capability"] != 20 {
		t.Errorf("rejections %v, reasons %v; want counts only", d.Rejected, d.Reasons)
	}
	if ReplayPick(d) != "" {
		t.Error("a decision without all of its candidates was replayed")
	}
}

func TestEveryServerIsACandidateOrRejectedForAReason(t *testing.T) {
	r := New(discoverNothing{}, nil, &Options{Seed: 1})
	defer r.Close()
	for _, c := range []struct{ entries, tried, excluded, strangers int }{
		{0, 0, 0, 3}, {3, 0, 0, 0}, {3, 1, 1, 2}, {3, 0, 3, 2}, {40, 0, 0, 5}, {40, 3, 2, 5}, {40, 20, 15, 0}, {40, 0, 40, 40}, {3, 1, 0, 40}, {32, 0, 0, 32},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			p, b := &pool{entries: entriesOf(c.entries)}, new(ballot)
			for i := range p.entries {
				switch {
				case i < c.tried:
					p.entries[i].barred = tried
				case i < c.tried+c.excluded:
					p.entries[i].exclude("session", "elsewhere")
				}
			}
			for i := range c.strangers {
				p.rejected = append(p.rejected, Rejection{Server: fmt.Sprintf("stranger-%04d", i), Reason: "capability"})
			}
			p.reasons = countReasons(p.rejected)
			before := slices.Clone(p.rejected)
			pick(b, p.entries, policy{health.Product{}, Plain(), WeightedRandom{}}, 3, time.Now())
			d, rejected := r.decide(b, p, "work", 3)
			counts := d.Reasons
			if counts == nil {
				counts = countReasons(d.Rejected)
			} else if d.Rejected != nil {
				t.Error("the record holds reasons and rejections")
			}
			if counts["session"] != c.excluded || counts["tried"] != c.tried || counts["capability"] != c.strangers {
				t.Errorf("rejected: %v", counts)
			}
			if fit := c.entries - c.tried - c.excluded; len(d.Candidates)+d.Omitted != fit || (d.Picked != "") != (fit > 0) {
				t.Errorf("%d candidates and %d omitted of %d, picked %q", len(d.Candidates), d.Omitted, fit, d.Picked)
			}
			if all := c.tried + c.excluded + c.strangers; d.Picked == "" && len(rejected) != all {
				t.Errorf("%d rejections to tell of %d", len(rejected), all)
			}
			byServer := func(a, b Rejection) int { return strings.Compare(a.Server, b.Server) }
			if !slices.IsSortedFunc(rejected, byServer) || !slices.Equal(before, p.rejected) {
				t.Error("the rejections are out of order, or the pool's were changed")
			}
		})
	}
}

func TestADecisionNeitherAllocatesNorWaits(t *testing.T) {
	entries, b, now := entriesOf(100), new(ballot), time.Now()
	for _, transform := range []Transform{Plain(), Excess(0), Power(2)} {
		n := testing.AllocsPerRun(100, func() { pick(b, entries, policy{health.Product{}, transform, WeightedRandom{}}, 1, now) })
		if n != 0 {
			t.Errorf("%s: %v allocations, want 0", transform, n)
		}
	}
}

type discoverNothing struct{}

func (discoverNothing) Snapshot() *Snapshot           { return &Snapshot{} }
func (discoverNothing) Refresh(context.Context) error { return nil }

// BenchmarkPick is a decision among so many candidates: alone, and while eight
// goroutines record a thousand outcomes a second each.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, recorders := range []int{0, 8} {
			b.Run(fmt.Sprintf("%d/recorders=%d", n, recorders), func(b *testing.B) { benchmarkPick(b, n, recorders) })
		}
	}
}

func benchmarkPick(b *testing.B, n, recorders int) {
	entries, ballot := entriesOf(n), new(ballot)
	defer record(entries, recorders)()
	tail := newTail()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		pick(ballot, entries, policy{health.Product{}, Plain(), WeightedRandom{}}, mix(uint64(i)), begun)
		tail.note(begun)
	}
	tail.report(b)
}

// record has goroutines record a thousand outcomes a second each, until stop is
// called.
func record(entries []entry, recorders int) (stop func()) {
	over := make(chan struct{})
	var recording sync.WaitGroup
	for k := range recorders {
		recording.Go(func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for i := k; ; i += recorders {
				select {
				case now := <-tick.C:
					entries[i%len(entries)].series.Observe(now, health.Success, time.Duration(50+i%50)*time.Millisecond)
				case <-over:
					return
				}
			}
		})
	}
	return func() { close(over); recording.Wait() }
}

func TestEffectOfWhatIsUnsaidIsUnsafe(t *testing.T) {
	if got := effectOf(&Offer{}); got != state.Unsafe {
		t.Errorf("effect %q, want unsafe", got)
	}
}
