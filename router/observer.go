package router

import (
	"time"

	"junction/state"
)

// Observer watches hops as they happen, for a live view or metrics. Its
// methods are called on the hop's own goroutine and must not block ([Relay] stands
// before one that does); OnProgress is called on another, ten times a second at
// most for an attempt, and once more before its outcome.
type Observer interface {
	OnDecision(HopInfo, Decision)
	// OnAttempt is called just before a request leaves.
	OnAttempt(HopInfo, AttemptInfo)
	OnOutcome(HopInfo, AttemptInfo, OutcomeInfo)
	OnProgress(HopInfo, AttemptInfo, Progress)
}

// ServerObserver is an [Observer] that is told of servers as well. Its methods must
// not block.
type ServerObserver interface {
	// OnDrift is called when a server's capability document changed; sameVersion:
	// without another version being told, which nobody expects.
	OnDrift(server string, sameVersion bool)
	// OnHeldBack is called when a tool is not offered since it is not as approved.
	OnHeldBack(server, tool string)
}

// HopInfo says which hop something happened to.
type HopInfo struct {
	Thread, Node, Task string // empty outside of a graph
	Hop                string
	Capability         string // empty for a direct call
}

// AttemptInfo says which attempt of the hop it was.
type AttemptInfo struct {
	Attempt int // from 1
	Server  string
	Tool    string
	Effect  state.Effect
}

// OutcomeInfo says how an attempt ended.
type OutcomeInfo struct {
	Status    state.CallStatus
	Execution state.Execution // of a failure
	Code      Code            // of a failure
	Message   string
	IsError   bool
	Duration  time.Duration
}

// Progress is what a server says of a call under way.
type Progress struct {
	Progress, Total float64 // Total 0: unknown
	Message         string
}

type nobody struct{}

func (nobody) OnDecision(HopInfo, Decision)                {}
func (nobody) OnAttempt(HopInfo, AttemptInfo)              {}
func (nobody) OnOutcome(HopInfo, AttemptInfo, OutcomeInfo) {}
func (nobody) OnProgress(HopInfo, AttemptInfo, Progress)   {}
