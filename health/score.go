package health

import "time"

// Reading is a series at one moment.
type Reading struct {
	InFlight   int           // of every worker, as far as they tell
	Own        int           // of them, this worker's
	Workers    int           // that have calls there, as far as they tell; this one counts always
	Success    float64       // decaying share of calls that did not fail, [0, 1]; 1 without samples
	Latency    time.Duration // decaying average of successful results; 0: no sample
	Memory     float64       // how much of Latency still counts, [0, 1]
	Open       int           // calls under way of this worker to this capability
	Silence    time.Duration // for how long none of those has ended
	ToolErrors float64       // decaying share of answers that were the tool's own error, [0, 1]

	Calls     int           // of the last five minutes
	ErrorRate float64       // of the last five minutes, [0, 1]; 0 without calls
	P95       time.Duration // of the last five minutes; 0: no sample
	Uptime    float64       // of the last 24 hours, [0, 1]; 1 without calls

	Ejected bool
	Resting bool    // asked to be left alone (Retry-After)
	Ramp    float64 // slow start, (0, 1]
	Drift   float64 // 1, or 0.5 after a fall
}

// Declared is what is claimed of a server; zero is undeclared.
type Declared struct {
	LatencyP95    time.Duration
	MaxConcurrent int
}

// Member is a server in the pool that is scored.
type Member struct {
	Reading
	Declared
}

// Occupied is the share of a member's places that are taken: those it declares, or
// as many as the default score takes for granted.
func (m *Member) Occupied() float64 {
	places := m.MaxConcurrent
	if places <= 0 {
		places = defaultConcurrency
	}
	return float64(max(m.InFlight, 0)) / float64(places)
}

// Score rates the members of a pool by each other.
type Score interface {
	// Name is what a decision records.
	Name() string
	// Rate fills out[i] with the score of pool[i], at least 0; 1 is a server in
	// order. scratch is at least as long as pool and may be overwritten. It
	// neither allocates nor blocks.
	Rate(pool []Member, out, scratch []float64)
	// TermNames are the names of what a score is made of: a dozen at most.
	TermNames() []string
	// Terms says, for the record, what the scores of the members at these places
	// are made of: out takes so many values for each as there are names, in their
	// order. A term that is NaN is left out of the record. It is called after Rate,
	// with pool and scratch as that left them, and neither allocates nor blocks.
	Terms(pool []Member, of []int, out, scratch []float64)
	// Windows reports whether the fields of the last five minutes and 24 hours
	// are used.
	Windows() bool
}

func clamp(x float64) float64 {
	if !(x > 0) { // NaN too
		return 0
	}
	return min(x, 1)
}
