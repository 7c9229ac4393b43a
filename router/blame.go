package router

import (
	"strings"

	"junction/health"
	"junction/state"
)

// Says is what an outcome says of the server: a caller's fault and what we cut
// short say nothing.
func (o OutcomeInfo) Says() health.Outcome {
	switch {
	case o.Status == state.CallSuccess && o.IsError:
		return health.ToolError
	case o.Status == state.CallSuccess:
		return health.Success
	case o.Status == state.CallWaiting || o.Status == state.CallRejected:
		return health.Ignored
	}
	return blameOf(&CallError{Code: o.Code, Clock: ClockOf(o.Message)})
}

// Clocks that can end an attempt, as [CallError] and the messages of records name them.
const (
	ClockIdle    = "idle"
	ClockMaximum = "maximum"
	ClockCaller  = "caller"
)

// ClockOf is the clock that ended an attempt, as the message of its record says
// ("idle clock: …"); "" when none did.
func ClockOf(message string) string {
	clock, _, found := strings.Cut(message, " clock: ")
	if found && (clock == ClockIdle || clock == ClockMaximum || clock == ClockCaller) {
		return clock
	}
	return ""
}
