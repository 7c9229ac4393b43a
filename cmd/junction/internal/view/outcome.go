package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"junction/graph"
	"junction/state"
)

// Outcome is what run and resume print with --json.
type Outcome struct {
	Thread     string         `json:"thread"`
	Status     state.Status   `json:"status"`
	Drained    bool           `json:"drained,omitempty"`
	State      map[string]any `json:"state"`
	Interrupts []Question     `json:"interrupts"`
	Error      *Problem       `json:"error"`
	Cause      *Cause         `json:"cause,omitempty"` // of a failed run
	Hops       []Hop          `json:"hops"`
}

// Question is an interrupt that waits for an answer.
type Question struct {
	ID     string          `json:"id"`
	Node   string          `json:"node"`
	Value  json.RawMessage `json:"value"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Problem is why a run failed.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Node    string `json:"node,omitempty"`
	Server  string `json:"server,omitempty"`
	Try     string `json:"try,omitempty"` // the next step, where nothing was run
}

// NewProblem is a failure as programs read it, with what to try.
func NewProblem(f state.Failure, try string) *Problem {
	return &Problem{Code: f.Code, Message: Clean(f.Message), Node: f.Node, Server: f.Server, Try: try}
}

// Hop is one routed call with all its attempts.
type Hop struct {
	ID         string           `json:"id"`
	Step       int              `json:"step"`
	Node       string           `json:"node"`
	Capability string           `json:"capability,omitempty"`
	Server     string           `json:"server"`
	Tool       string           `json:"tool"`
	Effect     state.Effect     `json:"effect"`
	Status     state.CallStatus `json:"status"`
	Code       string           `json:"code,omitempty"`
	IsError    bool             `json:"is_error,omitempty"` // the server answered, and the answer is the tool's own error
	Attempts   []Attempt        `json:"attempts"`
	DurationMS float64          `json:"duration_ms"`
	started    time.Time
}

// Attempt is one try at one server.
type Attempt struct {
	Server     string           `json:"server"`
	Round      int              `json:"round,omitempty"` // beyond the first
	Status     state.CallStatus `json:"status"`
	Execution  state.Execution  `json:"execution,omitempty"`
	Code       string           `json:"code,omitempty"`
	Message    string           `json:"message,omitempty"`
	IsError    bool             `json:"is_error,omitempty"` // the tool's own error
	DurationMS float64          `json:"duration_ms"`
}

// NewOutcome joins a run's result with its call records.
func NewOutcome(res graph.Result, records []state.Record) Outcome {
	o := Outcome{
		Thread: res.Thread, Status: res.Status, Drained: res.Drained, State: res.State,
		Interrupts: []Question{}, Hops: NewHops(records),
	}
	for _, i := range res.Interrupts {
		o.Interrupts = append(o.Interrupts, Question{ID: i.ID, Node: i.Node, Value: i.Value, Schema: i.Schema})
	}
	if res.Err != nil {
		o.Error = NewProblem(state.FailureOf(res.Err), "")
	}
	return o
}

// NewHops groups records by hop, in the order in which hops began.
func NewHops(records []state.Record) []Hop {
	records = slices.Clone(records)
	state.SortRecords(records)
	hops := []Hop{}
	for _, r := range records {
		if n := len(hops); n == 0 || hops[n-1].ID != r.Hop {
			hops = append(hops, Hop{
				ID: r.Hop, Step: r.Step, Node: r.Node, Capability: r.Capability, Effect: r.Effect,
				Attempts: []Attempt{}, started: r.Started,
			})
		}
		h := &hops[len(hops)-1]
		h.Server, h.Tool, h.Status, h.Code, h.IsError = r.Server, r.Tool, r.Status, r.Code, r.IsError
		h.DurationMS += millis(r.Duration)
		a := Attempt{
			Server: r.Server, Status: r.Status, Execution: r.Execution, Code: r.Code,
			Message: line(r.Message), IsError: r.IsError, DurationMS: millis(r.Duration),
		}
		if r.Round > 1 {
			a.Round = r.Round
		}
		h.Attempts = append(h.Attempts, a)
	}
	slices.SortStableFunc(hops, func(a, b Hop) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID))
	})
	return hops
}
