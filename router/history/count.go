package history

import (
	"time"

	"junction/health"
	"junction/router"
	"junction/state"
)

const (
	// mostSeries is how many servers × capabilities × minutes are counted at once.
	mostSeries = 4096
	// mostMinutes is how many minutes wait for a store that is away.
	mostMinutes = 15
)

type key struct {
	minute             int64 // Unix s
	server, capability string
}

// count is what was seen of one server doing one capability in one minute.
type count struct {
	calls, failures, toolErrors int
	codes                       map[string]int
}

// counts are of minutes that are not stored yet.
type counts struct {
	by      map[key]*count
	dropped int
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 * 60 }

// add counts an outcome at now.
func (c *counts) add(now time.Time, server, capability string, o router.OutcomeInfo) {
	says := o.Says()
	if says == health.Ignored && (o.Code == "" || o.Code == router.Cancelled || router.ClockOf(o.Message) == router.ClockCaller) {
		return // it says nothing of the server, nor of our way with it
	}
	k := key{minuteOf(now), server, capability}
	n := c.by[k]
	if n == nil {
		if len(c.by) >= mostSeries {
			c.dropped++
			return
		}
		if c.by == nil {
			c.by = make(map[key]*count)
		}
		n = new(count)
		c.by[k] = n
	}
	if o.Code != "" {
		if n.codes == nil {
			n.codes = make(map[string]int)
		}
		n.codes[string(o.Code)]++
	}
	switch says {
	case health.Ignored:
		return
	case health.Failure:
		n.failures++
	case health.ToolError:
		n.toolErrors++
	}
	n.calls++
}

// forget drops the minutes up to and with until, and what is older than may wait.
func (c *counts) forget(now time.Time, until int64) {
	oldest := minuteOf(now) - mostMinutes*60
	for k := range c.by {
		switch {
		case k.minute <= until:
			delete(c.by, k)
		case k.minute < oldest:
			c.dropped++
			delete(c.by, k)
		}
	}
}

// samples are the counts of minutes up to and with until, with what is known now of
// each server; a server that is in trouble has one for the last of them even when
// nothing was counted.
func (c *counts) samples(worker string, until int64, readings []Reading) []state.HealthSample {
	type pair struct{ server, capability string }
	now := make(map[pair]Reading, len(readings))
	for _, r := range readings {
		now[pair{r.Server, r.Capability}] = r
	}
	var out []state.HealthSample
	for k, n := range c.by {
		if k.minute > until {
			continue
		}
		h := state.HealthSample{
			Server: k.server, Capability: k.capability, Worker: worker, Minute: time.Unix(k.minute, 0).UTC(),
			Calls: n.calls, Failures: n.failures, ToolErrors: n.toolErrors, Score: 1,
		}
		for code, times := range n.codes {
			if h.Codes == nil {
				h.Codes = make(map[string]int, len(n.codes))
			}
			h.Codes[code] = times
		}
		if r, known := now[pair{k.server, k.capability}]; known {
			r.fill(&h)
		}
		if k.minute == until {
			delete(now, pair{k.server, k.capability})
		}
		out = append(out, h)
	}
	for _, r := range now {
		if r.troubled() && len(out) < mostSeries {
			h := state.HealthSample{Server: r.Server, Capability: r.Capability, Worker: worker, Minute: time.Unix(until, 0).UTC()}
			r.fill(&h)
			out = append(out, h)
		}
	}
	state.SortHealth(out)
	return out
}
