package router

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"junction/health"
	"junction/state"
)

// target is what a probe asks, and whom.
type target struct {
	known     *known
	by        string // ByTool, ByPing or ByHandshake
	tool      string
	arguments map[string]any
	declared  health.Declared
	covers    []string // capabilities that it speaks for
}

// probe is what is remembered of a target between two looks at it. The prober's mu
// guards it.
type probe struct {
	target
	due      time.Time
	last     ProbeReading
	strikes  int           // failures in a row
	patience time.Duration // grown by timeouts, until a success
	learned  time.Duration // what the last success took
	silent   time.Time     // since when it has been held for timeouts alone; zero: it is not
}

// probeKey names a target: a capability's, or "" for what speaks for the rest.
type probeKey struct{ server, capability string }

func (a probeKey) compare(b probeKey) int {
	return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.capability, b.capability))
}

// targets are how a server is probed: by a tool for each capability that has a safe one
// with minimal arguments, and by a ping for the rest of them.
func targets(k *known, pings bool) map[string]target {
	all := map[string]target{}
	var rest []string
	for i := range k.offers {
		o := &k.offers[i]
		if t, ok := byTool(k, o); ok {
			if _, more := all[o.Capability]; !more {
				all[o.Capability] = t
			}
			continue
		}
		if !slices.Contains(rest, o.Capability) {
			rest = append(rest, o.Capability)
		}
	}
	rest = slices.DeleteFunc(rest, func(capability string) bool { _, done := all[capability]; return done })
	switch {
	case len(rest) == 0:
	case k.err != nil:
		all[""] = target{known: k, by: ByHandshake, covers: rest}
	case pings:
		all[""] = target{known: k, by: ByPing, covers: rest}
	}
	return all
}

func byTool(k *known, o *Offer) (target, bool) {
	arguments, declares := o.Probe.(map[string]any)
	t := k.tools[o.Tool] // none, where the server cannot be reached
	if !declares || effectOf(o) != state.Safe || t == nil || k.held[o.Tool] != "" {
		return target{}, false
	}
	return target{
		known: k, by: ByTool, tool: o.Tool, arguments: arguments, covers: []string{o.Capability},
		declared: health.Declared{LatencyP95: k.latencyP95(t), MaxConcurrent: k.maxConcurrent(t)},
	}, true
}

// survey brings the probes in line with the servers there are, and with what is known
// of them. p.mu is held.
func (p *prober) survey(now time.Time) {
	snapshot := p.r.discovery.Snapshot()
	p.r.noticeChange(snapshot)
	edition := p.r.roster.edition.Load()
	if p.snapshot == snapshot && p.edition == edition && p.probes != nil {
		return
	}
	p.snapshot, p.edition = snapshot, edition
	_, pings := p.r.caller.(Pinger)
	next := make(map[probeKey]*probe, len(p.probes))
	for _, k := range p.r.roster.met(snapshot.Servers, p.o.All) {
		if k == nil {
			continue
		}
		all := targets(k, pings)
		for _, capability := range slices.Sorted(maps.Keys(all)) { // so that each draws the same time for a seed
			key := probeKey{k.server.ID, capability}
			pr := p.probes[key]
			if pr == nil {
				first := p.born.Add(p.o.After)
				if first.Before(now) {
					first = now
				}
				pr = &probe{due: first.Add(time.Duration(p.rand.Float64() * float64(p.o.Every)))}
			}
			pr.target = all[capability]
			next[key] = pr
		}
	}
	p.probes = next
}

// readings are what the last probes found, by server and capability.
func (p *prober) readings() map[probeKey]ProbeReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[probeKey]ProbeReading, len(p.probes))
	for key, pr := range p.probes {
		for _, capability := range pr.covers {
			all[probeKey{key.server, capability}] = pr.last
		}
	}
	return all
}
