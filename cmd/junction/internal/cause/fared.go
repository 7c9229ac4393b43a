package cause

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"junction/health"
	"junction/router"
	"junction/state"
)

// Fared is how a server did in the ten minutes before a call ended.
type Fared struct {
	Server     string         `json:"server"`
	From       string         `json:"from"` // "history": of all workers; "thread": of this thread's calls alone
	Calls      int            `json:"calls"`
	Failures   int            `json:"failures"`
	ToolErrors int            `json:"tool_errors"`
	Codes      map[string]int `json:"codes,omitempty"` // failed attempts by code, those that are not its fault, too
	P95        float64        `json:"p95_ms,omitempty"`
	InFlight   int            `json:"in_flight,omitempty"` // most
	Score      *float64       `json:"lowest_score,omitempty"`
	Minutes    int            `json:"minutes"`                   // that something is known of
	Ejected    int            `json:"minutes_ejected,omitempty"` // of them
	Probe      string         `json:"probe,omitempty"`           // last one, if it was not in order
	Turns      int            `json:"turns,omitempty"`           // how often it went from well to ill or back

	lastIll bool // the newest of it
}

// Answers is how many calls were answered in order.
func (f *Fared) Answers() int { return max(f.Calls-f.Failures-f.ToolErrors, 0) }

// share is n of the calls.
func (f *Fared) share(n int) float64 {
	if f.Calls == 0 {
		return 0
	}
	return float64(n) / float64(f.Calls)
}

// fared is what is known of a server around a call: from the history where that
// holds more than the thread's own calls.
func (e *Evidence) fared(server string, at *state.Record) *Fared {
	from, to := span(at)
	history, own := fromSamples(server, e.Samples, from, to), fromRecords(server, e.Records, from, to)
	if history.Minutes > 0 && history.Calls >= own.Calls {
		if history.Turns < own.Turns { // seen within a minute
			history.Turns = own.Turns
		}
		return history
	}
	return own
}

func fromSamples(server string, samples []state.HealthSample, from, to time.Time) *Fared {
	f := &Fared{Server: server, From: "history", Codes: map[string]int{}}
	type minute struct {
		calls, failures int
		ejected         bool
	}
	by := map[int64]*minute{}
	for _, h := range samples {
		if h.Server != server || h.Minute.Before(from) || !h.Minute.Before(to) {
			continue
		}
		m := by[h.Minute.Unix()]
		if m == nil {
			m = new(minute)
			by[h.Minute.Unix()] = m
		}
		m.calls, m.failures, m.ejected = m.calls+h.Calls, m.failures+h.Failures, m.ejected || h.Ejected
		f.Calls, f.Failures, f.ToolErrors = f.Calls+h.Calls, f.Failures+h.Failures, f.ToolErrors+h.ToolErrors
		for code, n := range h.Codes {
			f.Codes[code] += n
		}
		f.P95, f.InFlight = max(f.P95, millis(h.P95)), max(f.InFlight, h.InFlight)
		if f.Score == nil || h.Score < *f.Score {
			score := h.Score
			f.Score = &score
		}
		if h.Probe != "" { // the newest comes last
			f.Probe = h.Probe
		}
	}
	if f.Probe == "ok" {
		f.Probe = ""
	}
	f.Minutes = len(by)
	var ills []bool
	for _, at := range slices.Sorted(maps.Keys(by)) {
		m := by[at]
		if m.ejected {
			f.Ejected++
		}
		if m.calls > 0 {
			ills = append(ills, 2*m.failures > m.calls)
		}
	}
	f.turn(ills)
	return f
}

func fromRecords(server string, records []state.Record, from, to time.Time) *Fared {
	f := &Fared{Server: server, From: "thread", Codes: map[string]int{}}
	minutes := map[int64]bool{}
	var ills []bool
	var took []time.Duration
	for _, r := range records {
		if r.Server != server || r.Started.Before(from) || !r.Started.Before(to) || r.Status == state.CallOpen {
			continue
		}
		minutes[r.Started.Unix()/60] = true
		o := router.OutcomeInfo{Status: r.Status, Code: router.Code(r.Code), Message: r.Message, IsError: r.IsError}
		says := o.Says()
		if r.Code != "" && says != health.Ignored || r.Status == state.CallError {
			f.Codes[r.Code]++
		}
		switch says {
		case health.Ignored:
			continue
		case health.ToolError:
			f.ToolErrors++
		case health.Failure:
			f.Failures++
		case health.Success:
			took = append(took, r.Duration)
		}
		f.Calls++
		ills = append(ills, says == health.Failure)
	}
	if len(took) > 0 {
		slices.Sort(took)
		f.P95 = millis(took[(len(took)*95+99)/100-1])
	}
	f.Minutes = len(minutes)
	f.turn(ills)
	return f
}

func (f *Fared) turn(ills []bool) {
	for i, ill := range ills {
		if i > 0 && ill != ills[i-1] {
			f.Turns++
		}
		f.lastIll = ill
	}
}

func millis(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond)) / float64(time.Millisecond)
}

// String is f on a line, for people.
func (f *Fared) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d failed", count(f.Calls, "call"), f.Failures)
	if list := f.codes(); list != "" {
		fmt.Fprintf(&b, " (%s)", list)
	}
	if f.ToolErrors > 0 {
		fmt.Fprintf(&b, ", %s", count(f.ToolErrors, "tool error"))
	}
	if f.P95 > 0 {
		fmt.Fprintf(&b, ", P95 %s", time.Duration(f.P95*float64(time.Millisecond)).Round(time.Millisecond))
	}
	if f.Score != nil {
		fmt.Fprintf(&b, ", score down to %.2f", *f.Score)
	}
	if f.Ejected > 0 {
		fmt.Fprintf(&b, ", left alone in %d of %d minutes", f.Ejected, f.Minutes)
	}
	if f.Probe != "" {
		fmt.Fprintf(&b, ", last probe: %s", f.Probe)
	}
	return b.String()
}

func (f *Fared) codes() string {
	codes := slices.SortedFunc(maps.Keys(f.Codes), func(a, b string) int {
		if d := f.Codes[b] - f.Codes[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s %d", code, f.Codes[code])
	}
	return strings.Join(codes, ", ")
}

// overloads counts refusals of work.
func (f *Fared) overloads() int { return f.Codes[string(router.ServerOverload)] }

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
