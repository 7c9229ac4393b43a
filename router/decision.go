package router

import (
	"time"

	"junction/health"
)

// Decision is a routing decision as data: up to 32 candidates the pick can be
// replayed from it exactly. Decisions share what they have in common, such as who was
// rejected for the capability: they are not to be changed.
type Decision struct {
	Capability string         `json:"capability,omitempty"`
	Policy     string         `json:"policy"`            // "weighted-random"
	Transform  string         `json:"transform"`         // "plain", "excess", "power"
	Score      string         `json:"score,omitempty"`   // "product", "linear"
	Seed       uint64         `json:"seed"`              // of the draw
	Draw       float64        `json:"draw"`              // in [0, total weight)
	Picked     string         `json:"picked"`            // server id; "" when there was no candidate
	Tool       string         `json:"tool,omitempty"`    // of the pick
	Candidates []Candidate    `json:"candidates"`        // by server id; beyond 32 the pick and the eight heaviest
	Omitted    int            `json:"omitted,omitempty"` // candidates left out of the record
	Rejected   []Rejection    `json:"rejected,omitempty"`
	Reasons    map[string]int `json:"reasons,omitempty"` // beyond 32: counts per rejection reason
	Stale      bool           `json:"stale,omitempty"`   // decided on the last known servers
	Took       time.Duration  `json:"-"`                 // to find, rate and pick; waits for a place or a back-off apart. No part of the record
}

// Candidate is an eligible server.
type Candidate struct {
	Server string       `json:"server"`
	Tool   string       `json:"tool"`
	Match  float64      `json:"match"`  // of the preferences, [0, 1]
	Health float64      `json:"health"` // [0, 1]
	Terms  health.Terms `json:"terms"`  // what health was made of
	Weight float64      `json:"weight"`
}

// Rejection is an ineligible server and why.
type Rejection struct {
	Server string `json:"server"`
	Reason string `json:"reason"` // a short word: "capability", "need", "tool_missing", "held_back", "contract", "tried", "saturated", "resting", "ejected", "unreachable", "session", "ledger"
	Detail string `json:"detail"` // for people
}
