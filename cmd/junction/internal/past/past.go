package past

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"junction/health"
	"junction/router"
	"junction/router/lab"
	"junction/state"
)

// Options select what of the records is meant.
type Options struct {
	Capability string   // "": that with the most calls
	Servers    []string // these alone; none: all. The first is the one to watch
}

// Past is a time that was recorded.
type Past struct {
	Scenario lab.Scenario
	From, To time.Time
	Actual   Actual
	Unknown  []string // what the records do not tell and the scenario takes for granted, for people
}

// Actual is what happened, in the words of the lab.
type Actual struct {
	Capability string  `json:"capability"`
	Calls      int     `json:"calls"`
	Attempts   float64 `json:"attempts"` // per call
	Errors     float64 `json:"errors"`   // share of calls
	Over       float64 `json:"over"`     // share of calls that took over a second, or failed
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Watch      string  `json:"watch"`
	Share      float64 `json:"share"` // of the attempts, at the watched server
}

// ErrNothing: no call was recorded that a scenario could be made of.
var ErrNothing = errors.New("no call of a capability is recorded in that time")

// slow is what the lab's Over counts by default.
const slow = time.Second

// attempt is a record's place in time, from the scenario's beginning.
type attempt struct {
	server    string
	at, took  time.Duration
	ok        bool // an answer in order
	toolError bool
}

// hop is a call with its attempts.
type hop struct {
	at, end time.Duration
	failed  bool
	cut     bool // stopped by whoever asked: how long it took says nothing
}

// Read makes a scenario of records, in any order. samples tell of minutes in which a
// server got no call.
func Read(records []state.Record, samples []state.HealthSample, o Options) (*Past, error) {
	capability := cmp.Or(o.Capability, busiest(records))
	records = slices.DeleteFunc(slices.Clone(records), func(r state.Record) bool {
		other := len(o.Servers) > 0 && r.Server != "" && !slices.Contains(o.Servers, r.Server)
		return r.Capability == "" || r.Capability != capability || r.Status == state.CallOpen || r.Status == state.CallWaiting || other
	})
	if len(records) == 0 {
		return nil, ErrNothing
	}
	from := slices.MinFunc(records, func(a, b state.Record) int { return a.Started.Compare(b.Started) }).Started
	p := &Past{From: from.Truncate(time.Minute)}
	hops, attempts := p.parts(records)
	if len(attempts) == 0 {
		return nil, ErrNothing
	}
	last := hops[len(hops)-1].at
	p.To = p.From.Add(last)
	p.Actual = actual(capability, hops, attempts)
	s := &p.Scenario
	s.Name, s.About = "history", fmt.Sprintf("%s from %s, as recorded", capability, p.From.UTC().Format("2006-01-02 15:04 UTC"))
	s.Duration = last.Truncate(time.Second) + time.Second
	for _, h := range hops {
		s.Calls.At = append(s.Calls.At, h.at)
	}
	s.Effect, s.Timeout = usual(records, func(r state.Record) state.Effect { return r.Effect }), usual(records, func(r state.Record) time.Duration { return r.Max.Round(100 * time.Millisecond) })
	s.Routers = max(workersOf(samples, p.From, p.To), 1)
	s.Policies = []string{lab.Default, "linear", "uniform", "two-choice"}
	p.servers(attempts, samples, capability)
	p.Actual.Watch = p.watch(attempts, o.Servers)
	followed := slices.IndexFunc(s.Servers, func(v lab.Server) bool { return v.Name == p.Actual.Watch })
	if len(o.Servers) > 0 || len(s.Servers[followed].Changes) > 0 { // else there is nothing to see
		s.Watch = p.Actual.Watch
	}
	for _, a := range attempts {
		if a.server == p.Actual.Watch {
			p.Actual.Share += 1 / float64(len(attempts))
		}
	}
	p.caveats(hops)
	return p, nil
}

// busiest is the capability of most records, of equals the first by name.
func busiest(records []state.Record) string {
	n := map[string]int{}
	for _, r := range records {
		if r.Capability != "" && r.Server != "" {
			n[r.Capability]++
		}
	}
	names := slices.Sorted(maps.Keys(n))
	if len(names) == 0 {
		return ""
	}
	return slices.MaxFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(n[a], n[b]), -cmp.Compare(a, b)) })
}

// usual is the value that most records have, its zero apart.
func usual[T cmp.Ordered](records []state.Record, of func(state.Record) T) (most T) {
	n := map[T]int{}
	var zero T
	for _, r := range records {
		if v := of(r); v != zero {
			n[v]++
		}
	}
	for _, v := range slices.Sorted(maps.Keys(n)) {
		if n[v] > n[most] {
			most = v
		}
	}
	return most
}

// parts are the calls in the order in which they arrived, and their attempts in the
// order in which they began.
func (p *Past) parts(records []state.Record) (hops []hop, attempts []attempt) {
	type key struct {
		thread, hop string
		round       int
	}
	type end struct {
		hop
		last int
	}
	by := map[key]*end{}
	for _, r := range records {
		at := r.Started.Sub(p.From)
		outcome := router.OutcomeInfo{Status: r.Status, Code: router.Code(r.Code), Message: r.Message, IsError: r.IsError}
		if says := outcome.Says(); r.Server != "" && says != health.Ignored { // what we cut short says nothing
			attempts = append(attempts, attempt{r.Server, at, r.Duration, says == health.Success, says == health.ToolError})
		}
		h := by[key{r.Thread, r.Hop, r.Round}]
		if h == nil {
			h = &end{hop{at: at}, -1}
			by[key{r.Thread, r.Hop, r.Round}] = h
		}
		h.at, h.end = min(h.at, at), max(h.end, at+r.Duration)
		if r.Attempt > h.last || r.Attempt == 0 {
			h.last, h.cut = r.Attempt, r.Status == state.CallCancelled
			h.failed = r.Status != state.CallSuccess && !h.cut
		}
	}
	for _, h := range by {
		hops = append(hops, h.hop)
	}
	slices.SortFunc(hops, func(a, b hop) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.end, b.end)) })
	slices.SortFunc(attempts, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.server, b.server), cmp.Compare(a.took, b.took))
	})
	return hops, attempts
}

func actual(capability string, hops []hop, attempts []attempt) Actual {
	a := Actual{Capability: capability, Calls: len(hops), Attempts: float64(len(attempts)) / float64(len(hops))}
	var took []time.Duration
	for _, h := range hops {
		each := 1 / float64(len(hops))
		if h.cut {
			continue
		}
		if h.failed {
			a.Errors += each
		} else {
			took = append(took, h.end-h.at)
		}
		if h.failed || h.end-h.at > slow {
			a.Over += each
		}
	}
	slices.Sort(took)
	a.P50, a.P99 = quantile(took, 50), quantile(took, 99)
	return a
}

// quantile is in ms; 0 of nothing.
func quantile(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := (len(sorted)*percent+99)/100 - 1
	return float64(sorted[max(i, 0)]) / float64(time.Millisecond)
}

// workersOf is how many workers the samples come from.
func workersOf(samples []state.HealthSample, from, to time.Time) int {
	workers := map[string]bool{}
	for _, h := range samples {
		if !h.Minute.Before(from) && !h.Minute.After(to) && h.Calls > 0 {
			workers[h.Worker] = true
		}
	}
	return min(len(workers), 100)
}

// watch is the server that is followed: the one asked for, else the one whose
// attempts failed most, of equals the slowest.
func (p *Past) watch(attempts []attempt, asked []string) string {
	names := make([]string, 0, len(p.Scenario.Servers))
	for _, s := range p.Scenario.Servers {
		names = append(names, s.Name)
	}
	if len(asked) > 0 && slices.Contains(names, asked[0]) {
		return asked[0]
	}
	type badness struct {
		failed, n int
		took      time.Duration
	}
	by := map[string]badness{}
	for _, a := range attempts {
		b := by[a.server]
		b.n++
		b.took += a.took
		if !a.ok {
			b.failed++
		}
		by[a.server] = b
	}
	return slices.MaxFunc(names, func(a, b string) int {
		x, y := by[a], by[b]
		return cmp.Or(cmp.Compare(x.failed, y.failed), cmp.Compare(x.took/time.Duration(max(x.n, 1)), y.took/time.Duration(max(y.n, 1))), -cmp.Compare(a, b))
	})
}

// caveats say what the scenario takes for granted.
func (p *Past) caveats(hops []hop) {
	say := func(format string, args ...any) { p.Unknown = append(p.Unknown, fmt.Sprintf(format, args...)) }
	say("how long a server would have taken under another load: a recorded time holds what the call waited there. Where a policy sends a server more than it got, the lab is kind to that policy; where less, it is hard")
	say("how many calls a server can work on at once: taken for the most that were seen at once, and 8 at least")
	say("how a server was in a minute without a call to it: taken for as it was in its last minute with one")
	say("what others asked of the servers, and what they declare")
	say("whether a call that failed would have failed elsewhere, too (a wrong argument does): failures are taken for the server's")
	if p.Scenario.Routers > 1 {
		say("which of %d workers made which call: each is given to one at random", p.Scenario.Routers)
	}
	if n := len(hops); n < 1000 {
		say("much, from %d calls: a P99 of fewer than a thousand is nearly a maximum", n)
	}
}
