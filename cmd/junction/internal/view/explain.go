package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"junction/router"
	"junction/state"
)

// Explained is what explain prints: the decisions of a thread's hops, and the
// root cause when it failed.
type Explained struct {
	Thread state.Thread   `json:"thread"`
	Cause  *Cause         `json:"cause,omitempty"`
	Hops   []ExplainedHop `json:"hops"`
}

// ExplainedHop is a hop with the decision behind each attempt.
type ExplainedHop struct {
	Hop
	Decisions []router.Decision `json:"decisions"`
}

// Cause is why a thread stopped, as far as its records tell.
type Cause struct {
	LastFailingCall *Call  `json:"last_failing_call,omitempty"`
	Recent          Recent `json:"server_in_this_thread"`
	Likely          string `json:"likely"`
	Try             string `json:"try"`
}

// Recent is how the failing server did in the thread.
type Recent struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
}

// Explain reads decisions out of a thread's records; node, if set, selects.
func Explain(t state.Thread, records []state.Record, node string) (*Explained, error) {
	e := &Explained{Thread: t, Hops: []ExplainedHop{}}
	decisions := map[string][]router.Decision{}
	sorted := slices.Clone(records)
	state.SortRecords(sorted)
	for _, r := range sorted {
		if len(r.Decision) == 0 {
			continue
		}
		var d router.Decision
		if err := json.Unmarshal(r.Decision, &d); err != nil {
			return nil, fmt.Errorf("thread %s, hop %s: its decision cannot be read: %w", t.ID, r.Hop, err)
		}
		decisions[r.Hop] = append(decisions[r.Hop], d)
	}
	for _, h := range NewHops(records) {
		if node == "" || h.Node == node {
			e.Hops = append(e.Hops, ExplainedHop{Hop: h, Decisions: decisions[h.ID]})
		}
	}
	if t.Failure != nil {
		e.Cause = findCause(t, records)
	}
	return e, nil
}

func findCause(t state.Thread, records []state.Record) *Cause {
	c := &Cause{}
	for i := range records {
		r := &records[i]
		failing := r.IsError || r.Status != state.CallSuccess && r.Status != state.CallOpen
		if failing && (t.Failure.Node == "" || r.Node == t.Failure.Node) {
			call := NewHistory([]state.Record{*r})[0]
			c.LastFailingCall = &call
		}
	}
	if c.LastFailingCall != nil {
		for _, r := range records {
			if r.Server == c.LastFailingCall.Server {
				c.Recent.Calls++
				if r.IsError || r.Status != state.CallSuccess {
					c.Recent.Failed++
				}
			}
		}
	}
	c.Likely, c.Try = likely(t)
	return c
}

// advice is what usually lies behind a code, and what helps.
var advice = map[string][2]string{
	"no_candidate":                     {"no server fits what the node needs", "junction servers FILE, then start or declare one that fits"},
	"saturated":                        {"every fitting server is at its declared concurrency", "add a replica, or raise max_concurrent"},
	"budget":                           {"so many calls fail that retrying would make it worse", "junction history --since 10m shows which server fails"},
	"deadline":                         {"the run's own time was over", "resume with a longer --timeout"},
	"tool_error":                       {"the tool worked and refused: what it said is above", "mend what it names; where an initial value is wrong, run the workflow anew: a thread keeps its values"},
	"expression":                       {"an expression of the workflow file does not suit the values it met", "mend the file and run it anew: a thread keeps the workflow it was started with"},
	"recursion_limit":                  {"a loop of the workflow does not end", "mend the condition that ends it, or raise recursion_limit, and run it anew: a thread keeps the workflow it was started with"},
	"cancelled":                        {"it was stopped on purpose", "nothing has to be mended"},
	string(router.Timeout):             {"the server is slower than the node's timeout, or hangs", "raise the node's timeout, or look at the server"},
	string(router.Transport):           {"the server cannot be reached or its connection broke", "junction servers FILE shows its last words"},
	string(router.ServerError):         {"the server failed inside", "look at the server's own log"},
	string(router.OutputInvalid):       {"the server's answer does not fit the schema it or the capability declares", "compare the tool's output schema with the capability's contract"},
	string(router.CapabilityMismatch):  {"the tool is unknown there or its arguments do not fit its schema", "junction servers FILE, and the offer's `with` mapping"},
	string(router.AuthRequired):        {"the server wants a credential and none is configured", "set headers for it in the servers file"},
	string(router.AuthMismatch):        {"the server refused the credential", "check the credential in the servers file"},
	string(router.ServerOverload):      {"the server refuses work because it is overloaded", "add a replica, or lower the load"},
	string(router.IdempotencyConflict): {"one idempotency key was used with two different arguments", "a workflow must make the same call when it runs again"},
}

func likely(t state.Thread) (cause, try string) {
	if a, ok := advice[t.Failure.Code]; ok {
		if strings.Contains(a[1], " anew") { // a resume alone would fail again
			return a[0], a[1]
		}
		return a[0], a[1] + "; then junction resume " + t.ID
	}
	return "the node itself failed: " + line(t.Failure.Message), "mend it, then junction resume " + t.ID
}

// Print prints the explanation for people, with at most so many hops; 0 for all.
func (e *Explained) Print(w io.Writer, most int, s Style) error {
	p := &printer{w: w}
	p.f("thread %s  %s  %s, superstep %d\n", e.Thread.ID, Clean(e.Thread.Workflow), e.Thread.Status, e.Thread.Step)
	if f := e.Thread.Failure; f != nil {
		p.f("%s %s%s: %s\n", s.paint(bad, "failed:"), at(f.Node), f.Code, reason(f.Node, f.Message))
		if c := e.Cause.LastFailingCall; c != nil && c.Server != "" {
			p.f("  last failing call: %s at %s, %s, attempt %d\n", Clean(c.Tool), fallbackWord(Clean(c.Server)), word(ended(c.Status, c.IsError), c.Code), c.Attempt)
			p.f("  that server in this thread: %s, %d failed\n", Count(e.Cause.Recent.Calls, "call"), e.Cause.Recent.Failed)
		}
		p.f("  likely: %s\n  try: %s\n", e.Cause.Likely, e.Cause.Try)
	}
	if e.Thread.Status == state.StatusPending && len(e.Hops) == 0 {
		p.f("it waits for a worker to take it up (junction serve, on its store), or for junction resume %s\n", e.Thread.ID)
	}
	shown, left := first(e.Hops, most)
	for _, h := range shown {
		p.f("\n%s %s  %s\n", s.paint(bold, h.Node), fallback(h.Capability, h.Tool), ended(h.Status, h.IsError))
		for i, a := range h.Attempts {
			if a.Server == "" { // nothing was sent
				p.f("  %s\n", strings.TrimPrefix(fmt.Sprintf("%s%s", a.Code, colon(a.Message)), ": "))
				continue
			}
			p.f("  attempt %d at %s: %s%s (%.1f ms)\n", i+1, Clean(a.Server), word(ended(a.Status, a.IsError), a.Code), colon(a.Message), a.DurationMS)
		}
		for _, d := range h.Decisions {
			printDecision(p, d, "    ", s)
		}
	}
	if left > 0 {
		p.f("\nand %d more hops: --node NAME shows one node's, --limit 0 all\n", left)
	}
	return p.err
}

// first takes up to most hops, in their order: those that did not succeed before
// the others. 0 takes all.
func first(hops []ExplainedHop, most int) (shown []ExplainedHop, left int) {
	if most <= 0 || len(hops) <= most {
		return hops, 0
	}
	troubled := 0
	for _, h := range hops {
		if h.IsError || h.Status != state.CallSuccess {
			troubled++
		}
	}
	troubled = min(troubled, most)
	fine := most - troubled
	for _, h := range hops {
		room := &fine
		if h.IsError || h.Status != state.CallSuccess {
			room = &troubled
		}
		if *room > 0 {
			*room--
			shown = append(shown, h)
		}
	}
	return shown, len(hops) - most
}

// ended is how a call ended, in words: a tool's own error is an answer, and no
// success to who waits for it.
func ended(status state.CallStatus, isError bool) string {
	if isError {
		return "tool error"
	}
	return string(status)
}

// word is a status with its code, where it has one.
func word(status, code string) string {
	if code == "" {
		return status
	}
	return status + " " + code
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
