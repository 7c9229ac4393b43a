package cause

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"junction/router"
	"junction/state"
)

// Check is one of the five questions about a run that does not go on.
type Check struct {
	Name    string `json:"name"`
	Suspect bool   `json:"suspect"`
	Says    string `json:"says"`
	Try     string `json:"try,omitempty"` // of a suspect
}

// Sizes that a context is judged by, in bytes of JSON.
const (
	heavy    = 512 << 10 // compressed from here on
	tooHeavy = 1 << 20   // warned of from here on
)

// quiet is how long a running thread may store nothing before that is said.
const quiet = time.Minute

// Stuck asks the five questions of a thread that runs, waits for a worker, or went
// round until its limit; nil for any other.
func Stuck(e Evidence) []Check {
	t := e.Thread
	if t.Status != state.StatusRunning && t.Status != state.StatusPending && (t.Failure == nil || t.Failure.Code != recursionLimit) {
		return nil
	}
	return []Check{e.checkLoop(), e.checkSessions(), e.checkDiscovery(), e.checkCommit(), e.checkContext()}
}

func (e *Evidence) checkLoop() Check {
	c := Check{Name: string(Loop)}
	nodes, found := unchanged(e.Rounds)
	if !found {
		c.Says = fmt.Sprintf("no round of the last %s left the state as it was", count(max(len(e.Rounds)-1, 0), "superstep"))
		return c
	}
	c.Suspect = true
	c.Says = fmt.Sprintf("the state is as it was a round ago, and the round before: %s", strings.Join(nodes, " → "))
	c.Try = kinds[Loop].try
	return c
}

// unchanged looks for two rounds in a row at the end that left the state as it was,
// or added the same once more; nodes are those of a round.
func unchanged(rounds []state.Snapshot) (nodes []string, found bool) {
	for period := 1; 2*period < len(rounds); period++ {
		now, before, first := &rounds[0], &rounds[period], &rounds[2*period]
		if len(now.Next) == 0 || !sameNext(now, before) || !sameNext(before, first) ||
			!sameValues(now, before) || !sameValues(before, first) || !sameGrowth(now, before, first) {
			continue
		}
		for i := period; i >= 1; i-- {
			names := nodesOf(rounds[i].Next)
			nodes = append(nodes, strings.Join(names, "+"))
		}
		return nodes, true
	}
	return nil, false
}

func nodesOf(tasks []state.Task) []string {
	var names []string
	for _, t := range tasks {
		names = append(names, t.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func sameNext(a, b *state.Snapshot) bool {
	return slices.EqualFunc(a.Next, b.Next, func(x, y state.Task) bool {
		return x.Node == y.Node && x.Index == y.Index && bytes.Equal(x.Item, y.Item)
	})
}

func sameValues(a, b *state.Snapshot) bool {
	return maps.EqualFunc(a.Values, b.Values, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// sameGrowth: every log grew by the same items in both rounds.
func sameGrowth(now, before, first *state.Snapshot) bool {
	for name, items := range now.Logs {
		n, m := len(before.Logs[name]), len(first.Logs[name])
		if m > n || n > len(items) || !slices.EqualFunc(items[n:], before.Logs[name][m:], func(x, y json.RawMessage) bool { return bytes.Equal(x, y) }) {
			return false
		}
	}
	return true
}

func (e *Evidence) checkSessions() Check {
	c := Check{Name: "session_or_clock"}
	if off, found := e.skew(); found {
		c.Suspect, c.Try = true, kinds[Skew].try
		c.Says = fmt.Sprintf("the clocks of worker and store differ by %s at least", off.Round(time.Second))
		return c
	}
	for _, s := range e.Sessions {
		bound := s.Bound != ""
		if s.Expires.IsZero() || e.Now.Before(s.Expires) || !bound && !e.waitsFor(s.ID) {
			continue
		}
		c.Suspect, c.Try = true, "junction resume makes a new session; a node that is bound to the old one starts again"
		c.Says = fmt.Sprintf("the session with %s ran out %s ago, and a call relies on it", s.Server, e.Now.Sub(s.Expires).Round(time.Second))
		return c
	}
	c.Says = fmt.Sprintf("%s, none that a call relies on has run out; clocks agree", count(len(e.Sessions), "session"))
	return c
}

// waitsFor: a call is open in this session.
func (e *Evidence) waitsFor(session string) bool {
	return slices.ContainsFunc(e.Records, func(r state.Record) bool {
		return r.Session == session && (r.Status == state.CallOpen || r.Code == string(router.SessionExpired))
	})
}

func (e *Evidence) checkDiscovery() Check {
	c := Check{Name: string(StaleDiscovery)}
	decided := 0
	var last state.Record
	for _, r := range e.Records {
		if len(r.Decision) > 0 && !r.Started.Before(last.Started) {
			last, decided = r, decided+1
		}
	}
	var d router.Decision
	switch {
	case decided == 0:
		c.Says = "no server was chosen yet"
	case json.Unmarshal(last.Decision, &d) != nil:
		c.Says = "the last decision cannot be read"
	case d.Stale:
		c.Suspect, c.Try = true, kinds[StaleDiscovery].try
		c.Says = fmt.Sprintf("the last decision (node %s) was made on servers last read some time ago: discovery could not be reached", last.Node)
	default:
		c.Says = "the last decision was made on servers as they were then"
	}
	return c
}

func (e *Evidence) checkCommit() Check {
	c := Check{Name: string(BlockedCommit)}
	since := e.Now.Sub(e.Thread.Updated)
	if len(e.Rounds) == 0 || e.Thread.Status != state.StatusRunning {
		c.Says = fmt.Sprintf("nobody is at work on it (%s), so none is due", e.Thread.Status)
		return c
	}
	head := &e.Rounds[0]
	done := 0
	for _, t := range head.Next {
		if _, ok := head.Pending[t.ID]; ok {
			done++
		}
	}
	var open *state.Record
	for i := range e.Records {
		if e.Records[i].Status == state.CallOpen {
			open = &e.Records[i]
		}
	}
	took := e.Now.Sub(head.Created).Round(time.Second)
	switch {
	case len(head.Next) > 0 && done == len(head.Next) && took > quiet:
		c.Suspect, c.Try = true, "look whether the store takes writes and its disk has room; junction resume commits what is there once its worker is gone"
		c.Says = fmt.Sprintf("all of superstep %d has finished (%s), but no checkpoint follows since %s", head.Step+1, count(done, "task"), took)
	case open != nil:
		c.Says = fmt.Sprintf("%s at %s (node %s) is under way since %s: the superstep waits for it", open.Tool, open.Server, open.Node, e.Now.Sub(open.Started).Round(time.Second))
	case took > quiet && since > quiet:
		c.Suspect, c.Try = true, "junction threads shows who holds it; if nobody does, junction resume goes on with it"
		c.Says = fmt.Sprintf("%d of %s of superstep %d have finished, no call is recorded as open, and nothing was stored for %s: its worker is gone or cannot write, or a node computes", done, count(len(head.Next), "task"), head.Step+1, min(took, since.Round(time.Second)))
	default:
		c.Says = fmt.Sprintf("superstep %d began %s ago; %d of %s have finished", head.Step+1, took, done, count(len(head.Next), "task"))
	}
	return c
}

func (e *Evidence) checkContext() Check {
	c := Check{Name: string(LargeContext)}
	if len(e.Rounds) == 0 {
		c.Says = "there is no state yet"
		return c
	}
	total, most, largest := 0, 0, ""
	weigh := func(name string, size int) {
		if total += size; size > most || size == most && name < largest {
			most, largest = size, name
		}
	}
	for name, v := range e.Rounds[0].Values {
		weigh(name, len(v))
	}
	for name, items := range e.Rounds[0].Logs {
		size := 0
		for _, item := range items {
			size += len(item)
		}
		weigh(name, size)
	}
	c.Says = fmt.Sprintf("its state is %s", size(total))
	if total > heavy {
		c.Says += fmt.Sprintf(", of which %s is %s", largest, size(most))
	}
	if total > tooHeavy {
		c.Suspect, c.Try = true, fmt.Sprintf("keep of %s what later nodes need: a path or a summary instead of the whole", largest)
	}
	return c
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
