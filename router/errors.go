package router

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"junction/state"
)

// Local causes: what Code says of errors that no server gave.
const (
	CodeNoCandidate = "no_candidate"
	CodeSaturated   = "saturated"
	CodeBudget      = "budget"
	CodeDeadline    = "deadline"
)

// rejectionsTold is how many servers a message names; of a large fleet it counts
// the others.
const rejectionsTold = 16

// untold counts the rejections that a message does not name, by reason.
func untold(rejected []Rejection) string {
	if len(rejected) <= rejectionsTold {
		return ""
	}
	rest := rejected[rejectionsTold:]
	counts := countReasons(rest)
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, counts[reason]))
	}
	return fmt.Sprintf("; and %d more (%s)", len(rest), strings.Join(reasons, ", "))
}

// NoCandidateError reports that no server can do what was asked. Nothing was
// sent.
type NoCandidateError struct {
	Capability string // or the tool of a direct call
	Rejected   []Rejection
	Err        error // why the servers could not be looked up anew; nil: they were
}

func (e *NoCandidateError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no server for %q", e.Capability)
	switch {
	case len(e.Rejected) > 0: // named below
	case e.Err == nil:
		b.WriteString(": no server is known; add one to the servers file (mcpServers), give --config, or --consul and register one there")
	default: // there may be some where nobody could look
		b.WriteString(": no server is known")
	}
	for i, r := range e.Rejected[:min(len(e.Rejected), rejectionsTold)] {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s (%s", sep, r.Server, r.Reason)
		if r.Detail != "" {
			fmt.Fprintf(&b, ": %s", r.Detail)
		}
		b.WriteString(")")
	}
	b.WriteString(untold(e.Rejected))
	if e.Err != nil {
		fmt.Fprintf(&b, "; looking for others failed: %v", e.Err)
	}
	return b.String()
}

// Code returns "no_candidate".
func (e *NoCandidateError) Code() string { return CodeNoCandidate }

// Unwrap returns why the servers could not be looked up anew.
func (e *NoCandidateError) Unwrap() error { return e.Err }

// AttemptError is one failed attempt of a hop.
type AttemptError struct {
	Attempt int // from 1 within the hop's round
	Server  string
	Tool    string
	Err     *CallError
}

func (e *AttemptError) Error() string { return fmt.Sprintf("%s on %s: %v", e.Tool, e.Server, e.Err) }

// Unwrap returns the *CallError.
func (e *AttemptError) Unwrap() error { return e.Err }

// AttemptsError reports a hop that failed after it was attempted.
type AttemptsError struct {
	Capability string // or the tool of a direct call
	HopID      string
	Attempts   []*AttemptError
	Cause      error // why there was no further attempt; nil: the count was used up, or the code forbids one
}

func (e *AttemptsError) Error() string {
	var b strings.Builder
	noun := "attempts"
	if len(e.Attempts) == 1 {
		noun = "attempt"
	}
	fmt.Fprintf(&b, "%s failed after %d %s", e.Capability, len(e.Attempts), noun)
	sep, times := ": ", 0
	for i, a := range e.Attempts {
		text := a.Error()
		if times++; i+1 < len(e.Attempts) && e.Attempts[i+1].Error() == text {
			continue // said once, for all that ended alike
		}
		b.WriteString(sep + text)
		if times > 1 {
			fmt.Fprintf(&b, " (%d times)", times)
		}
		sep, times = "; ", 0
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, "; no further attempt: %v", e.Cause)
	}
	return b.String()
}

// Unwrap returns the attempts' errors and the cause.
func (e *AttemptsError) Unwrap() []error {
	all := make([]error, 0, len(e.Attempts)+1)
	for _, a := range e.Attempts {
		all = append(all, a)
	}
	if e.Cause != nil {
		all = append(all, e.Cause)
	}
	return all
}

// Code is the last attempt's.
func (e *AttemptsError) Code() string { return string(e.last().Err.Code) }

// Server is the last attempt's.
func (e *AttemptsError) Server() string { return e.last().Server }

// Hop is the hop's identity.
func (e *AttemptsError) Hop() string { return e.HopID }

func (e *AttemptsError) last() *AttemptError { return e.Attempts[len(e.Attempts)-1] }

// RejectedError reports that every server that fits was at its declared
// concurrency, or asked to be left alone, for as long as the hop could wait.
type RejectedError struct {
	Capability string
	Waited     time.Duration
	Rejected   []Rejection
}

func (e *RejectedError) Error() string {
	var busy []string
	for _, r := range e.Rejected {
		if r.Reason == "saturated" || r.Reason == "resting" {
			busy = append(busy, fmt.Sprintf("%s (%s)", r.Server, r.Detail))
		}
	}
	more := ""
	if over := len(busy) - rejectionsTold; over > 0 {
		more, busy = fmt.Sprintf(" and %d more", over), busy[:rejectionsTold]
	}
	return fmt.Sprintf("every server for %q is busy after waiting %s: %s%s; start fewer tasks at once or add a server",
		e.Capability, e.Waited.Round(time.Millisecond), strings.Join(busy, ", "), more)
}

// Code returns "saturated".
func (e *RejectedError) Code() string { return CodeSaturated }

// BudgetError reports that a hop could be tried again but too many others were:
// the worker retries a share of its calls, so that an outage is not made worse.
type BudgetError struct{ Attempts *AttemptsError }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v; no further attempt: too many calls are being retried at once, wait and resume", e.Attempts)
}

// Unwrap returns the *AttemptsError.
func (e *BudgetError) Unwrap() error { return e.Attempts }

// Code returns "budget".
func (e *BudgetError) Code() string { return CodeBudget }

// Server is the last attempt's.
func (e *BudgetError) Server() string { return e.Attempts.Server() }

// Hop is the hop's identity.
func (e *BudgetError) Hop() string { return e.Attempts.HopID }

// DeadlineError reports that the caller's own time ran out. It is a
// context.DeadlineExceeded.
type DeadlineError struct {
	Capability string
	HopID      string
	Err        error // the context's cause, joined with the attempts' errors
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("the caller's deadline ended %s: %v", e.Capability, e.Err)
}

// Unwrap returns the cause.
func (e *DeadlineError) Unwrap() error { return e.Err }

// Code returns "deadline".
func (e *DeadlineError) Code() string { return CodeDeadline }

// Hop is the hop's identity.
func (e *DeadlineError) Hop() string { return e.HopID }

// ContractError reports arguments that break the capability's own contract: no
// server is at fault, and nothing was sent.
type ContractError struct {
	Capability string
	Err        error
}

func (e *ContractError) Error() string {
	return fmt.Sprintf("the arguments break the input contract of %q: %v", e.Capability, e.Err)
}

// Unwrap returns what does not fit.
func (e *ContractError) Unwrap() error { return e.Err }

// Code returns MCP_CAPABILITY_MISMATCH.
func (e *ContractError) Code() string { return string(CapabilityMismatch) }

// SessionLostError reports that the server a thread's session is with no longer
// serves. Nothing was sent; the hop's next run opens a session elsewhere.
type SessionLostError struct{ Capability, HopID, ServerID string }

func (e *SessionLostError) Error() string {
	return fmt.Sprintf("the thread's session with %s for %q is lost, and what the server knew with it; start the node again to open another",
		e.ServerID, e.Capability)
}

// Code returns MCP_SESSION_EXPIRED.
func (e *SessionLostError) Code() string { return string(SessionExpired) }

// Server is the one that was lost.
func (e *SessionLostError) Server() string { return e.ServerID }

// Hop is the hop's identity.
func (e *SessionLostError) Hop() string { return e.HopID }

// UnknownOutcomeError reports a mutation of which nobody can say whether it
// happened, where nobody can be asked or the person asked gave it up. Running
// the hop again never sends it again by itself.
type UnknownOutcomeError struct {
	HopID     string
	Evidence  state.Record // the attempt
	Abandoned bool         // a person decided so
	Err       error        // the attempt's failure, or what was wrong with the answer; may be nil
}

func (e *UnknownOutcomeError) Error() string {
	what := fmt.Sprintf("it is unknown whether %s on %s (%s) took effect", e.Evidence.Tool, e.Evidence.Server, e.Evidence.Effect)
	switch {
	case e.Abandoned:
		return what + "; it was given up on a person's word"
	case e.Err != nil:
		return fmt.Sprintf("%s: %v; look at the server, then decide: it is not called again by itself", what, e.Err)
	}
	return what + "; look at the server, then decide: it is not called again by itself"
}

// Unwrap returns the cause.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Settled reports that a person has decided: what follows may go on.
func (e *UnknownOutcomeError) Settled() bool { return e.Abandoned }

// Code is the attempt's.
func (e *UnknownOutcomeError) Code() string { return e.Evidence.Code }

// Server is where the attempt was made.
func (e *UnknownOutcomeError) Server() string { return e.Evidence.Server }

// Hop is the hop's identity.
func (e *UnknownOutcomeError) Hop() string { return e.HopID }

// unreachable says why a server could not be described, with the last words of
// one that did not start.
func unreachable(err error) string {
	text := err.Error()
	if call, ok := errors.AsType[*CallError](err); ok && len(call.Stderr) > 0 {
		const most = 3
		lines := call.Stderr[max(0, len(call.Stderr)-most):]
		text += "; its last words: " + strings.Join(lines, " | ")
	}
	return text
}
