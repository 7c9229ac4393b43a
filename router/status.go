package router

import (
	"context"
	"time"

	"junction/health"
)

// ServerStatus is what is known of one server.
type ServerStatus struct {
	Server      *Server
	Description *Description      // nil when Err is not
	Err         error             // why it could not be described
	Offers      []Offer           // the operator's, then what the server declares
	Held        map[string]string // tools that are not called since they are not as approved, and why
	Health      []CapabilityHealth
}

// CapabilityHealth is a server's health doing one capability.
type CapabilityHealth struct {
	Capability string
	health.Reading
	Score float64      // of the router's score, among the capability's servers, clamped to [0, 1]
	Terms health.Terms // what the score was made of
	Probe ProbeReading // the last one
}

// ServerHealth is how one server fares with one capability.
type ServerHealth struct {
	Server string
	CapabilityHealth
}

// Servers describes every known server, in the order of their ids. They are
// asked at once, and one that hangs ends at its own time limit.
func (r *Router) Servers(ctx context.Context) []ServerStatus {
	snapshot := r.discovery.Snapshot()
	r.noticeChange(snapshot)
	all := r.roster.gather(ctx, snapshot.Servers, func(*known) bool { return false }, r.options.Handshake+r.options.Grace).all
	statuses := make([]ServerStatus, len(all))
	fares := r.fare(all)
	for i, k := range all {
		statuses[i] = ServerStatus{Server: k.server, Description: k.description, Err: k.err, Offers: k.offers, Held: k.held, Health: fares[i]}
	}
	return statuses
}

// Health returns how the servers fare as far as it is known, in the order of their ids
// and offers. It asks nobody and waits for nothing.
func (r *Router) Health() []ServerHealth {
	servers := r.discovery.Snapshot().Servers
	all := r.roster.met(servers, false)
	for i, s := range servers {
		if all[i] == nil {
			all[i] = &known{server: s, offers: s.Offers}
		}
	}
	var flat []ServerHealth
	for i, capabilities := range r.fare(all) {
		for _, h := range capabilities {
			flat = append(flat, ServerHealth{Server: all[i].server.ID, CapabilityHealth: h})
		}
	}
	return flat
}

// fare is the health of each server, for each capability it offers.
func (r *Router) fare(all []*known) [][]CapabilityHealth {
	type place struct{ server, health int }
	now, found := time.Now(), r.probes.readings()
	fares := make([][]CapabilityHealth, len(all))
	pools := make(map[string][]health.Member)
	places := make(map[string][]place)
	for i, k := range all {
		seen := make(map[string]bool)
		for _, o := range k.offers {
			if seen[o.Capability] {
				continue
			}
			seen[o.Capability] = true
			series := r.health.Series(k.server.ID, o.Capability, now)
			series.Refresh(now)
			var m health.Member
			series.Read(now, &m.Reading)
			if t := k.tools[o.Tool]; t != nil {
				m.Declared = health.Declared{LatencyP95: k.latencyP95(t), MaxConcurrent: k.maxConcurrent(t)}
			}
			probe := found[probeKey{k.server.ID, o.Capability}]
			fares[i] = append(fares[i], CapabilityHealth{Capability: o.Capability, Reading: m.Reading, Probe: probe})
			pools[o.Capability] = append(pools[o.Capability], m)
			places[o.Capability] = append(places[o.Capability], place{i, len(fares[i]) - 1})
		}
	}
	for capability, pool := range pools {
		scores, scratch := make([]float64, len(pool)), make([]float64, len(pool))
		r.options.Score.Rate(pool, scores, scratch)
		everyone := make([]int, len(pool))
		for i := range everyone {
			everyone[i] = i
		}
		width := len(r.options.Score.TermNames())
		terms := make([]float64, width*len(pool))
		r.options.Score.Terms(pool, everyone, terms, scratch)
		for n, at := range places[capability] {
			h := &fares[at.server][at.health]
			h.Score = min(max(scores[n], 0), 1)
			h.Terms = health.TermsOf(r.options.Score, terms[n*width:][:width])
		}
	}
	return fares
}
