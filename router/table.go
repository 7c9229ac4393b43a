package router

import (
	"net/http"

	"junction/health"
	"junction/state"
)

// step is what follows a failed attempt.
type step uint8

const (
	stop       step = iota // the hop fails
	other                  // another server, this one no more
	elsewhere              // another server, else this one after a back-off
	renew                  // this server at once with a new session; the second time elsewhere
	byEffect               // what unknown says of the effect
	sameLedger             // the same key and arguments where the ledger is shared
	reconcile              // a person, or the record, says whether it happened
)

// rule is one code's row of the table.
type rule struct {
	usual  state.Execution // where the caller does not say
	sure   step            // after a failure that certainly did not execute
	unsure step            // after one that executed or may have
	blame  health.Outcome  // what the code says of the server
	doubt  bool            // read the server's description anew
}

// rules is the table of codes. Every decision after a failed attempt is read
// from it and from unknown; none reads a message.
var rules = map[Code]rule{
	AuthRequired:        {state.NotExecuted, other, byEffect, health.Ignored, false},
	AuthMismatch:        {state.NotExecuted, other, byEffect, health.Ignored, false},
	CapabilityMismatch:  {state.NotExecuted, elsewhere, byEffect, health.Ignored, true},
	OutputInvalid:       {state.Unknown, elsewhere, byEffect, health.Failure, true},
	VersionUnsupported:  {state.NotExecuted, other, byEffect, health.Ignored, true},
	SessionExpired:      {state.NotExecuted, renew, byEffect, health.Ignored, true},
	ServerOverload:      {state.Unknown, elsewhere, byEffect, health.Failure, false},
	ServerError:         {state.Unknown, elsewhere, byEffect, health.Failure, false},
	Timeout:             {state.Unknown, elsewhere, byEffect, health.Failure, false},
	Cancelled:           {state.Unknown, stop, stop, health.Ignored, false},
	Transport:           {state.Unknown, elsewhere, byEffect, health.Failure, true},
	IdempotencyConflict: {state.NotExecuted, stop, stop, health.Ignored, false},
}

// unknown is what follows when nobody can say whether the attempt took effect.
var unknown = map[state.Effect]step{
	state.Safe:        elsewhere,
	state.Conditional: sameLedger,
	state.Unsafe:      reconcile,
}

// after reads the table: what follows a failed attempt of a call with this
// effect.
func after(e *CallError, effect state.Effect) step {
	row, known := rules[e.Code]
	if !known {
		row = rule{unsure: byEffect, sure: byEffect}
	}
	next := row.unsure
	if executionOf(e) == state.NotExecuted {
		next = row.sure
	}
	if next == byEffect {
		return unknown[effect]
	}
	return next
}

// executionOf is what the caller says of the attempt, else the code's usual.
func executionOf(e *CallError) state.Execution {
	if e.Execution != "" {
		return e.Execution
	}
	row, ok := rules[e.Code]
	switch {
	case !ok:
		return state.Unknown
	case e.Code == ServerOverload && (e.RetryAfter > 0 || e.HTTPStatus == http.StatusTooManyRequests):
		return state.NotExecuted // refused before work
	}
	return row.usual
}

// inProgress reports a ledger that works on the key right now: the first call
// is still under way. That is no conflict: one waits, with the same key.
func inProgress(e *CallError) bool {
	// 409: the original request is in flight; other arguments are 422.
	return e.Code == IdempotencyConflict && (e.HTTPStatus == http.StatusConflict || e.Execution == state.Unknown)
}

// blameOf is what a failure says of the server: the caller's own limit nothing.
func blameOf(e *CallError) health.Outcome {
	if e.Clock == "caller" {
		return health.Ignored
	}
	row, ok := rules[e.Code]
	if !ok {
		return health.Failure
	}
	return row.blame
}

// statusOf is the record's word for a failure.
func statusOf(e *CallError) state.CallStatus {
	switch e.Code {
	case Timeout:
		return state.CallTimeout
	case Cancelled:
		return state.CallCancelled
	}
	return state.CallError
}
