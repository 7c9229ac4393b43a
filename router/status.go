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
	Score float64            // of the router's score, among the capability's servers, clamped to [0, 1]
	Terms map[string]float64 // what the score was made of
}

// Servers describes every known server, in the order of their ids. They are
// asked at once, and one that hangs ends at its own time limit.
func (r *Router) Servers(ctx context.Context) []ServerStatus {
	snapshot := r.discovery.Snapshot()
	r.noticeChange(snapshot)
	all := r.roster.gather(ctx, snapshot.Servers, func(*known) bool { return false }, r.options.Handshake+r.options.Grace).all
	now := time.Now()
	statuses := make([]ServerStatus, len(all))
	type place struct{ server, health int }
	pools := make(map[string][]health.Member)
	places := make(map[string][]place)
	for i, k := range all {
		statuses[i] = ServerStatus{Server: k.server, Description: k.description, Err: k.err, Offers: k.offers, Held: k.held}
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
			statuses[i].Health = append(statuses[i].Health, CapabilityHealth{Capability: o.Capability, Reading: m.Reading})
			pools[o.Capability] = append(pools[o.Capability], m)
			places[o.Capability] = append(places[o.Capability], place{i, len(statuses[i].Health) - 1})
		}
	}
	for capability, pool := range pools {
		scores, scratch := make([]float64, len(pool)), make([]float64, len(pool))
		r.options.Score.Rate(pool, scores, scratch)
		everyone := make([]int, len(pool))
		for i := range everyone {
			everyone[i] = i
		}
		terms := r.options.Score.Terms(pool, everyone, scratch)
		for n, at := range places[capability] {
			h := &statuses[at.server].Health[at.health]
			h.Score = min(max(scores[n], 0), 1)
			h.Terms = terms[n]
		}
	}
	return statuses
}
