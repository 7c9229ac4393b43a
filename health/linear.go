package health

import "math"

// Linear is the weighted sum
//
//	0.4·(1 − error rate) + 0.3·(1 − latency ratio) + 0.2·free capacity + 0.1·uptime
//
// over the last five minutes (uptime: 24 hours), each term clamped to [0, 1]:
//
//   - error rate: failed ÷ all calls; 0 without calls.
//   - latency ratio: P95 now ÷ declared P95, so a server at its declared
//     latency gets nothing for this term, one at half of it 0.15. It is 0
//     without a sample or without a declared P95.
//   - free capacity: (declared concurrency − in flight) ÷ declared concurrency;
//     1 where none is declared.
//   - uptime: mean over the hours with calls or probes of the share that did not
//     fail; 1 without any.
//
// The sum alone leaves a server that fails every call a score of 0.6. So a
// server that failed at least half of at least ten calls scores 0.
//
// Weighted random choice by this score lets a slow server drown (the default,
// [Product], does not): it is here for those who want to compare.
type Linear struct{}

const (
	weightErrors   = 0.4
	weightLatency  = 0.3
	weightCapacity = 0.2
	weightUptime   = 0.1

	eliminateRate  = 0.5
	eliminateCalls = 10
)

// Name returns "linear".
func (Linear) Name() string { return "linear" }

// Windows returns true.
func (Linear) Windows() bool { return true }

// Rate implements [Score].
func (Linear) Rate(pool []Member, out, _ []float64) {
	for i := range pool {
		out[i] = LinearScore(pool[i])
	}
}

var linearNames = []string{"errors", "latency", "capacity", "uptime", "eliminated"}

// TermNames returns errors, latency, capacity and uptime, each weighted, whose sum
// is the score; "eliminated" is 1 where the error rate overrides it.
func (Linear) TermNames() []string { return linearNames }

// Terms implements [Score].
func (Linear) Terms(pool []Member, of []int, out, _ []float64) {
	for n, i := range of {
		terms := out[n*len(linearNames):][:len(linearNames)]
		terms[0], terms[1], terms[2], terms[3] = linearTerms(&pool[i])
		terms[4] = math.NaN()
		if eliminated(&pool[i]) {
			terms[4] = 1
		}
	}
}

// LinearScore returns the score of one server: the linear score needs no peers.
func LinearScore(m Member) float64 {
	if eliminated(&m) {
		return 0
	}
	errors, latency, capacity, uptime := linearTerms(&m)
	return errors + latency + capacity + uptime
}

func eliminated(m *Member) bool {
	return m.Calls >= eliminateCalls && m.ErrorRate >= eliminateRate
}

func linearTerms(m *Member) (errors, latency, capacity, uptime float64) {
	errors = weightErrors * clamp(1-m.ErrorRate)
	latency = weightLatency
	if m.P95 > 0 && m.LatencyP95 > 0 {
		latency = weightLatency * clamp(1-float64(m.P95)/float64(m.LatencyP95))
	}
	capacity = weightCapacity
	if m.MaxConcurrent > 0 {
		free := float64(m.MaxConcurrent-m.InFlight) / float64(m.MaxConcurrent)
		capacity = weightCapacity * clamp(free)
	}
	uptime = weightUptime * clamp(m.Uptime)
	return errors, latency, capacity, uptime
}

// steadyScore is what drift watches: the linear score without capacity, which
// falls by load alone, and with an error rate over at least ten calls, so that
// the first failure of a quiet server is no fall.
func steadyScore(r Reading, d Declared) float64 {
	r.ErrorRate *= min(float64(r.Calls)/eliminateCalls, 1)
	r.Uptime = 1 - (1-r.Uptime)*min(float64(r.Calls)/eliminateCalls, 1)
	errors, latency, _, uptime := linearTerms(&Member{Reading: r, Declared: d})
	return (errors + latency + uptime) / (1 - weightCapacity)
}
