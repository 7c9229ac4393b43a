package past

import (
	"cmp"
	"math"
	"slices"
	"time"

	"junction/router/lab"
	"junction/state"
)

const (
	fewest   = 8    // workers that a server has at least
	enough   = 5    // answers that a minute's mean is believed from
	notable  = 0.25 // by how much a minute's mean differs from the usual before it is said
	steadily = 0.05 // a coefficient of variation below which times are fixed
	usually  = 100 * time.Millisecond
)

// minute is what was seen of a server in one.
type minute struct {
	calls, answers, failures, toolErrors int
	took, failedIn, refusedIn            time.Duration // in all
	ill                                  bool          // said by a sample alone
}

// servers describes each server that got an attempt.
func (p *Past) servers(attempts []attempt, samples []state.HealthSample, capability string) {
	by := map[string][]attempt{}
	var names []string
	for _, a := range attempts {
		if by[a.server] == nil {
			names = append(names, a.server)
		}
		by[a.server] = append(by[a.server], a)
	}
	slices.Sort(names)
	span := int(p.Scenario.Duration/time.Minute) + 1
	for _, name := range names {
		minutes := make([]minute, span)
		for _, a := range by[name] {
			minutes[min(int(a.at/time.Minute), span-1)].add(a)
		}
		for _, h := range samples {
			n := int(h.Minute.Sub(p.From) / time.Minute)
			if h.Server == name && (h.Capability == capability || h.Capability == "") && !h.Minute.Before(p.From) && n < span && minutes[n].calls == 0 {
				minutes[n].ill = minutes[n].ill || h.Probe != "" && h.Probe != "ok"
			}
		}
		p.Scenario.Servers = append(p.Scenario.Servers, serverOf(name, by[name], minutes))
	}
}

func (m *minute) add(a attempt) {
	m.calls++
	switch {
	case a.ok:
		m.answers, m.took = m.answers+1, m.took+a.took
	case a.toolError:
		m.toolErrors, m.refusedIn = m.toolErrors+1, m.refusedIn+a.took
	default:
		m.failures, m.failedIn = m.failures+1, m.failedIn+a.took
	}
}

func serverOf(name string, attempts []attempt, minutes []minute) lab.Server {
	v := lab.Server{Name: name, Count: 1, Workers: max(atOnce(attempts), fewest), Time: usually}
	// The usual time is that of the minutes in the middle: an hour of trouble in a day
	// is a change, and no part of it.
	var means []time.Duration
	for _, m := range minutes {
		if m.answers > 0 {
			means = append(means, m.took/time.Duration(m.answers))
		}
	}
	if len(means) > 0 {
		slices.Sort(means)
		mean := means[(len(means)-1)/2]
		v.Time = max(mean.Round(roundTo(mean)), time.Microsecond)
	}
	v.Spread, v.Sigma = spreadOf(attempts, minutes)
	var is lab.Behaviour
	for n := range minutes {
		if m := &minutes[n]; m.calls > 0 || m.ill {
			is = m.behaviour(v.Time)
		}
		if is == (lab.Behaviour{}) {
			continue
		}
		at := time.Duration(n) * time.Minute
		if last := len(v.Changes) - 1; last >= 0 && v.Changes[last].Behaviour == is && v.Changes[last].At+v.Changes[last].For == at {
			v.Changes[last].For += time.Minute
			continue
		}
		v.Changes = append(v.Changes, lab.Change{At: at, For: time.Minute, Behaviour: is})
	}
	return v
}

// behaviour is how a server was in a minute, its zero where it was as usual.
func (m *minute) behaviour(usual time.Duration) (b lab.Behaviour) {
	if m.calls == 0 { // a probe found it ill
		return lab.Behaviour{Fails: 1}
	}
	if m.answers >= enough || m.answers > 0 && m.failures == 0 {
		mean := max(m.took/time.Duration(m.answers), time.Microsecond)
		if math.Abs(float64(mean)/float64(usual)-1) > notable {
			b.Mean = mean.Round(roundTo(mean))
		}
	}
	if m.failures > 0 {
		mean := m.failedIn / time.Duration(m.failures)
		b.Fails, b.FailsIn = share(m.failures, m.calls), max(mean.Round(roundTo(mean)), time.Microsecond)
	}
	if m.toolErrors > 0 {
		mean := m.refusedIn / time.Duration(m.toolErrors)
		b.ToolErrors, b.ToolErrorsIn = share(m.toolErrors, m.calls-m.failures), max(mean.Round(roundTo(mean)), time.Microsecond)
	}
	return b
}

func share(n, of int) float64 { return math.Round(1e4*float64(n)/float64(max(of, 1))) / 1e4 }

// roundTo leaves three digits or so.
func roundTo(d time.Duration) time.Duration {
	to := time.Microsecond
	for to*1000 < d {
		to *= 10
	}
	return to
}

// atOnce is the most attempts that were under way at once.
func atOnce(attempts []attempt) int {
	type edge struct {
		at time.Duration
		by int
	}
	edges := make([]edge, 0, 2*len(attempts))
	for _, a := range attempts {
		edges = append(edges, edge{a.at, 1}, edge{a.at + a.took, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// spreadOf is how answers' times lie about the mean of their minute.
func spreadOf(attempts []attempt, minutes []minute) (lab.Spread, float64) {
	sum, n := 0.0, 0
	for _, a := range attempts {
		m := &minutes[min(int(a.at/time.Minute), len(minutes)-1)]
		if !a.ok || m.answers < enough || m.took == 0 {
			continue
		}
		off := float64(a.took)*float64(m.answers)/float64(m.took) - 1
		sum, n = sum+off*off, n+1
	}
	if n < 2*enough {
		return lab.Exponential, 0
	}
	variation := math.Sqrt(sum / float64(n))
	if variation < steadily {
		return lab.Fixed, 0
	}
	sigma := math.Sqrt(math.Log(1 + variation*variation))
	return lab.Lognormal, math.Round(sigma*100) / 100
}
