package view

import (
	"fmt"
	"time"

	"junction/router"
)

// Health is how a server fares with a capability, as this process knows.
type Health struct {
	Score   float64 `json:"score"` // [0, 1], among the servers of the capability
	Ejected bool    `json:"ejected"`
	Probe   *Probe  `json:"probe,omitempty"` // the last one; none where nothing was probed
}

// Probe is what a probe found.
type Probe struct {
	By         string `json:"by"` // "tool", "ping" or "handshake"
	Well       bool   `json:"well"`
	Fault      string `json:"fault,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// AddHealth says of each offer how its server fares.
func AddHealth(list []Server, health []router.ServerHealth) {
	type what struct{ server, capability string }
	by := make(map[what]*Health, len(health))
	for i := range health {
		h := &health[i]
		known := &Health{Score: h.Score, Ejected: h.Ejected}
		if p := h.Probe; !p.At.IsZero() {
			known.Probe = &Probe{By: p.By, Well: p.Well(), Fault: Clean(p.Fault), DurationMS: p.Took.Milliseconds()}
		}
		by[what{h.Server, h.Capability}] = known
	}
	for i := range list {
		if list[i].Error != "" {
			continue // nothing is known of one that cannot be used
		}
		for j := range list[i].Offers {
			o := &list[i].Offers[j]
			o.Health = by[what{list[i].ID, o.Capability}]
		}
	}
}

// column is the health behind an offer.
func (h *Health) column(s Style) string {
	if h == nil {
		return ""
	}
	text := fmt.Sprintf("  health %.2f", h.Score)
	if h.Ejected {
		text += ", " + s.paint(bad, "ejected")
	}
	switch p := h.Probe; {
	case p == nil:
	case p.Well:
		text += fmt.Sprintf("  probe %s (%s, %s)", s.paint(good, "ok"), p.By, time.Duration(p.DurationMS)*time.Millisecond)
	default:
		text += fmt.Sprintf("  probe %s (%s): %s", s.paint(bad, "✗"), p.By, p.Fault)
	}
	return text
}
