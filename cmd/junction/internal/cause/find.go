package cause

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"junction/router"
	"junction/state"
)

const recursionLimit = "recursion_limit"

// Cause is why a run failed, as far as is known.
type Cause struct {
	Kind   Kind     `json:"kind"`
	Likely string   `json:"likely"`
	Try    string   `json:"try"`
	Before *Fared   `json:"server_before,omitempty"` // the failing server in the ten minutes before
	Others []*Fared `json:"others,omitempty"`        // the other servers that the thread called in that time
}

// Find says why a failed thread failed; nil for one that did not.
func Find(e Evidence) *Cause {
	f := e.Thread.Failure
	if f == nil {
		return nil
	}
	c := &Cause{}
	last := e.LastFailing()
	if at := e.lastReached(); at != nil {
		c.Before, c.Others = e.fared(at.Server, at), e.others(at)
	}
	c.Kind = kindOf(&e, last, c.Before, c.Others)
	known, ok := kinds[c.Kind]
	if !ok { // of no call, or of a code of another day
		known = words{"the node itself failed: " + oneLine(f.Message), "mend it", false}
	}
	c.Likely, c.Try = known.likely, known.try
	switch {
	case c.Kind == Skew:
		off, _ := e.skew()
		c.Likely += fmt.Sprintf(" (by %s at least)", off.Round(time.Second))
	case f.Code == router.CodeNoCandidate:
		if _, servers := ofRejections(last); len(servers) > 0 {
			c.Likely += fmt.Sprintf(" (%s)", strings.Join(servers, ", "))
		}
	}
	if !known.anew { // else a resume alone would fail again
		c.Try += "; then junction resume " + e.Thread.ID
	}
	return c
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// others is how the other servers did that the thread called in that time, by name.
func (e *Evidence) others(last *state.Record) []*Fared {
	var names []string
	for _, r := range e.Records {
		if r.Server != "" && r.Server != last.Server && !slices.Contains(names, r.Server) && len(names) < mostServers {
			names = append(names, r.Server)
		}
	}
	slices.Sort(names)
	var all []*Fared
	for _, name := range names {
		if f := e.fared(name, last); f.Minutes > 0 {
			all = append(all, f)
		}
	}
	return all
}

// kindOf reads the code first, then how the server fared.
func kindOf(e *Evidence, last *state.Record, before *Fared, others []*Fared) Kind {
	code := e.Thread.Failure.Code
	if last != nil && (code == last.Code || code == "cancelled") && router.ClockOf(last.Message) == router.ClockCaller {
		return Deadline // which ends a run as a cancel does
	}
	if code == "cancelled" && strings.HasPrefix(e.Thread.Failure.Message, "--timeout ") {
		return Deadline // before any call
	}
	switch code {
	case router.CodeNoCandidate:
		kind, _ := ofRejections(last)
		return kind
	case recursionLimit:
		if _, found := unchanged(e.Rounds); found {
			return Loop
		}
	case "tool_error":
		if before != nil && before.ToolErrors >= few && before.share(before.ToolErrors) >= 0.5 {
			return Quota
		}
	case string(router.SessionExpired):
		if _, found := e.skew(); found {
			return Skew
		}
	}
	if kind, ok := byCode[code]; ok {
		return kind
	}
	if last == nil || before == nil {
		return Kind(code)
	}
	switch router.Code(code) {
	case router.CapabilityMismatch, router.OutputInvalid:
		if before.Answers() > 0 || workedBefore(e, last) {
			return Drifted
		}
		return Misfit
	case router.Timeout:
		return ofTimeout(before)
	case router.Transport:
		return ofTransport(last, before, others)
	case router.ServerError:
		if before.Turns >= flaps {
			return Flapping
		}
		return Broken
	}
	return Kind(code)
}

const (
	few   = 3 // fewer calls show no pattern
	flaps = 3 // well → ill → well → ill
)

func ofTimeout(f *Fared) Kind {
	switch {
	case f.overloads() > 0:
		return Overloaded
	case f.Turns >= flaps:
		return Flapping
	case f.Answers() == 0 && f.Calls >= few:
		return Hangs
	}
	return Slow
}

func ofTransport(last *state.Record, f *Fared, others []*Fared) Kind {
	elsewhere := 0
	for _, o := range others {
		if o.Codes[string(router.Transport)] > 0 && o.Answers() == 0 {
			elsewhere++
		}
	}
	refused := last.Execution == state.NotExecuted && !unreachable(last.Message)
	switch {
	case unreachable(last.Message), elsewhere > 0 && !refused:
		return Network
	case f.Turns >= flaps:
		return Flapping
	case refused || f.Answers() == 0 || f.lastIll && f.Failures >= few:
		return Down
	}
	return Network
}

// unreachable: the message says that the way to the host fails, not the host.
func unreachable(message string) bool {
	for _, text := range []string{"no such host", "no route to host", "network is unreachable", "host is unreachable", "server misbehaving", "i/o timeout"} {
		if strings.Contains(message, text) {
			return true
		}
	}
	return false
}

// workedBefore: this tool of this server has answered the thread before.
func workedBefore(e *Evidence, last *state.Record) bool {
	return slices.ContainsFunc(e.Records, func(r state.Record) bool {
		return r.Server == last.Server && r.Tool == last.Tool && r.Status == state.CallSuccess && !r.IsError && r.Started.Before(last.Started)
	})
}

// ofRejections reads out of the last decision why no server fitted, and which would
// have but for that.
func ofRejections(last *state.Record) (kind Kind, servers []string) {
	var d router.Decision
	if last == nil || len(last.Decision) == 0 || json.Unmarshal(last.Decision, &d) != nil {
		return NoCandidate, nil
	}
	held, resting := 0, 0
	var why []Kind
	for _, r := range d.Rejected {
		switch r.Reason {
		case "unreachable":
			servers, why = append(servers, r.Server), append(why, ofHandshake(r.Detail))
		case "ejected":
			servers, why = append(servers, r.Server), append(why, Down)
		case "resting":
			servers, resting = append(servers, r.Server), resting+1
		case "held_back":
			held++
		}
	}
	switch {
	case d.Stale && len(servers)+len(d.Candidates) == 0:
		return StaleDiscovery, nil
	case len(servers) == 0 && held > 0:
		return HeldBack, nil
	case len(servers) == 0:
		return NoCandidate, nil
	case resting == len(servers):
		return Overloaded, servers
	case len(slices.Compact(why)) == 1:
		return why[0], servers
	}
	return Down, servers
}

// ofHandshake reads the code out of why a server could not be described.
func ofHandshake(detail string) Kind {
	switch code := codeIn.FindString(detail); router.Code(code) {
	case router.Timeout:
		return Hangs
	case router.ServerError:
		return Broken
	case router.OutputInvalid:
		return Misfit
	case router.Transport:
		if unreachable(detail) {
			return Network
		}
	default:
		if kind, ok := byCode[code]; ok {
			return kind
		}
	}
	return Down
}

var codeIn = regexp.MustCompile(`MCP_[A-Z_]+`)

// skewed is by how much clocks may differ without being said to.
const skewed = 30 * time.Second

// skew compares the worker's clock, which stamps calls, with the store's, which
// stamps the thread: by how much they differ at least.
func (e *Evidence) skew() (off time.Duration, found bool) {
	widen := func(d time.Duration) { off = max(off, d) }
	for _, r := range e.Records {
		widen(e.Thread.Created.Sub(r.Started))
		if e.Thread.Status.Stopped() {
			widen(r.Started.Sub(e.Thread.Updated))
		}
	}
	for _, s := range e.Sessions {
		if !s.Opened.IsZero() && e.Thread.Status.Stopped() {
			widen(s.Opened.Sub(e.Thread.Updated))
		}
		if !s.Expires.IsZero() {
			widen(s.Opened.Sub(s.Expires))
		}
	}
	return off, off > skewed
}
