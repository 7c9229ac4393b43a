package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"junction/cmd/junction/internal/cause"
	"junction/router"
	"junction/state"
)

// Explained is what explain prints: the decisions of a thread's hops, the root
// cause when it failed, and five checks when it does not go on.
type Explained struct {
	Thread state.Thread   `json:"thread"`
	Cause  *Cause         `json:"cause,omitempty"`
	Checks []cause.Check  `json:"checks,omitempty"`
	Hops   []ExplainedHop `json:"hops"`
}

// ExplainedHop is a hop with the decision behind each attempt.
type ExplainedHop struct {
	Hop
	Decisions []router.Decision `json:"decisions"`
}

// Cause is why a thread failed, as far as what was kept tells.
type Cause struct {
	LastFailingCall *Call  `json:"last_failing_call,omitempty"`
	Recent          Recent `json:"server_in_this_thread"`
	cause.Cause
}

// Recent is how the failing server did in the thread.
type Recent struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
}

// Explain reads decisions out of a thread's records; node, if set, selects.
func Explain(e cause.Evidence, node string) (*Explained, error) {
	x := &Explained{Thread: e.Thread, Hops: []ExplainedHop{}, Cause: NewCause(e), Checks: cause.Stuck(e)}
	decisions := map[string][]router.Decision{}
	sorted := slices.Clone(e.Records)
	state.SortRecords(sorted)
	for _, r := range sorted {
		if len(r.Decision) == 0 {
			continue
		}
		var d router.Decision
		if err := json.Unmarshal(r.Decision, &d); err != nil {
			return nil, fmt.Errorf("thread %s, hop %s: its decision cannot be read: %w", e.Thread.ID, r.Hop, err)
		}
		decisions[r.Hop] = append(decisions[r.Hop], d)
	}
	for _, h := range NewHops(e.Records) {
		if node == "" || h.Node == node {
			x.Hops = append(x.Hops, ExplainedHop{Hop: h, Decisions: decisions[h.ID]})
		}
	}
	return x, nil
}

// NewCause says why a thread failed; nil for one that did not.
func NewCause(e cause.Evidence) *Cause {
	found := cause.Find(e)
	if found == nil {
		return nil
	}
	c := &Cause{Cause: *found}
	c.Likely, c.Try = line(c.Likely), line(c.Try)
	last := e.LastFailing()
	if last == nil {
		return c
	}
	call := NewHistory([]state.Record{*last})[0]
	c.LastFailingCall = &call
	for _, r := range e.Records {
		if r.Server == last.Server {
			c.Recent.Calls++
			if r.IsError || r.Status != state.CallSuccess {
				c.Recent.Failed++
			}
		}
	}
	return c
}

// print tells the cause; short leaves out what stands above it in a summary.
func (c *Cause) print(p *printer, short bool) {
	if call := c.LastFailingCall; call != nil && call.Server != "" {
		p.f("  last failing call: %s at %s, %s, attempt %d\n", Clean(call.Tool), fallbackWord(Clean(call.Server)), word(ended(call.Status, call.IsError), call.Code), call.Attempt)
		if !short {
			p.f("  that server in this thread: %s, %d failed\n", Count(c.Recent.Calls, "call"), c.Recent.Failed)
		}
	}
	if c.Before != nil && c.Before.From == "history" {
		p.f("  %s in the ten minutes before: %s\n", Clean(c.Before.Server), line(c.Before.String()))
	}
	if !short {
		for _, o := range c.Others {
			p.f("    meanwhile %s: %s\n", Clean(o.Server), line(o.String()))
		}
	}
	p.f("  likely: %s\n  try: %s\n", c.Likely, c.Try)
}

func printChecks(p *printer, checks []cause.Check, s Style) {
	if len(checks) == 0 {
		return
	}
	p.f("\n%s\n", s.paint(bold, "why it may not go on"))
	for _, c := range checks {
		mark := s.paint(good, "ok     ")
		if c.Suspect {
			mark = s.paint(bad, "suspect")
		}
		p.f("  %s  %-18s  %s\n", mark, strings.ReplaceAll(c.Name, "_", " "), line(c.Says))
		if c.Try != "" {
			p.f("           %-18s  try: %s\n", "", c.Try)
		}
	}
}

// Print prints the explanation for people, with at most so many hops; 0 for all.
func (e *Explained) Print(w io.Writer, most int, s Style) error {
	p := &printer{w: w}
	p.f("thread %s  %s  %s, superstep %d\n", e.Thread.ID, Clean(e.Thread.Workflow), e.Thread.Status, e.Thread.Step)
	if f := e.Thread.Failure; f != nil {
		p.f("%s %s%s: %s\n", s.paint(bad, "failed:"), at(f.Node), f.Code, reason(f.Node, f.Message))
		e.Cause.print(p, false)
	}
	if e.Thread.Status == state.StatusPending && len(e.Hops) == 0 {
		p.f("it waits for a worker to take it up (junction serve, on its store), or for junction resume %s\n", e.Thread.ID)
	}
	printChecks(p, e.Checks, s)
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
