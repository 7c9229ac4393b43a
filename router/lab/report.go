package lab

import (
	"time"
)

// Metric names a figure of a run.
type Metric string

// Figures of the calls that arrived after the warm-up. Shares are in [0, 1].
const (
	P50      Metric = "p50"      // ms from a call's arrival to its answer, of calls that got one
	P99      Metric = "p99"      // ms
	Over     Metric = "over"     // share of calls that took longer than slow, or failed
	Within   Metric = "within"   // 1 − over
	Errors   Metric = "errors"   // share of calls whose caller got an error
	Attempts Metric = "attempts" // requests per call, hedges too
	// Net is Attempts without the retries that a budget's floor lets through by
	// itself, some each second.
	Net Metric = "net_attempts"
	// Peak is the greatest share of the requests of a second that any server got, by
	// its fair share: what it adds to the pool when all are in order.
	Peak Metric = "peak"

	// Figures of the watched server; absent where there is none.

	Share   Metric = "share"   // its share of requests from settle after its trouble began to its end
	Fair    Metric = "fair"    // that, by its fair share
	Drain   Metric = "drain"   // s from the beginning of its trouble until its share is a quarter of its fair one
	Recover Metric = "recover" // s from the end of its trouble, or from its joining, until its share is 0.8 of its fair one
)

// Metrics are all metrics, in the order of reports.
func Metrics() []Metric {
	return []Metric{P50, P99, Over, Within, Errors, Attempts, Net, Peak, Share, Fair, Drain, Recover}
}

// Unit is "ms", "s", or "" for a share or a ratio.
func (m Metric) Unit() string {
	switch m {
	case P50, P99:
		return "ms"
	case Drain, Recover:
		return "s"
	}
	return ""
}

// Report is what a scenario came to under each policy.
type Report struct {
	Scenario string         `json:"scenario"`
	About    string         `json:"about,omitempty"`
	Seeds    []uint64       `json:"seeds"`
	Watch    string         `json:"watch,omitempty"`
	FairAt   float64        `json:"fair_share,omitempty"` // the watched server's share when all are in order
	Trouble  []Span         `json:"trouble,omitempty"`    // of the watched server, for plots
	Policies []PolicyReport `json:"policies"`
	Verdicts []Verdict      `json:"verdicts,omitempty"` // each check for each policy
}

// Span is a time in seconds since the beginning.
type Span struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// PolicyReport is what a scenario came to under one policy.
type PolicyReport struct {
	Policy  string   `json:"policy"`
	Figures []Figure `json:"figures"` // in the order of [Metrics]; those that mean nothing here are absent
	Series  []Second `json:"series"`  // one for each second of arrivals, means over the seeds
}

// Figure returns a metric's figure.
func (p *PolicyReport) Figure(m Metric) (Figure, bool) {
	for _, f := range p.Figures {
		if f.Metric == m {
			return f, true
		}
	}
	return Figure{}, false
}

// Figure is a metric's mean over the seeds with its 95 % interval (Student's t).
// A time that did not come counts as the rest of the run.
type Figure struct {
	Metric Metric  `json:"metric"`
	Unit   string  `json:"unit,omitempty"`
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Never  int     `json:"never,omitempty"` // seeds with which the time did not come
}

// Second is what happened in one second, mean over the seeds.
type Second struct {
	At     float64 `json:"at"`     // s since the beginning, of its start
	Calls  float64 `json:"calls"`  // that arrived
	P99    float64 `json:"p99_ms"` // of those that arrived, of the seeds together; 0: none was answered
	Errors float64 `json:"errors"` // share of those that arrived
	Share  float64 `json:"share"`  // of the requests sent in it, to the watched server
}

// Verdict is a check applied to a policy's figure.
type Verdict struct {
	Policy string  `json:"policy"`
	Check  string  `json:"check"`  // such as "p99 ≤ 1.1 × true-weights"
	Figure Figure  `json:"figure"` // of the ratio where the check names a policy
	Limit  float64 `json:"limit"`
	Holds  bool    `json:"holds"`
}

// Passed reports whether every check holds for a policy.
func (r *Report) Passed(policy string) bool {
	for _, v := range r.Verdicts {
		if v.Policy == policy && !v.Holds {
			return false
		}
	}
	return true
}

// milliseconds is how reports say latencies.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
