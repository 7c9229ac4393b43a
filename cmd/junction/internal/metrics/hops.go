package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	"junction/graph"
	"junction/graph/workflow"
	"junction/router"
	"junction/state"
)

// replayedResult is the kind of duplicate that a recorded result spared.
const replayedResult = "replayed"

// outcome says how a hop ended.
type outcome int

const (
	hopAnswered outcome = iota
	hopToolError
	hopReplayed
	hopNoCandidate
	hopAttempts
	hopRejected
	hopBudget
	hopDeadline
	hopUnknown
	hopContract
	hopQuestion
	hopDraining
	hopCancelled
	hopStore
	hopOther
)

var outcomes = [...]string{
	hopAnswered: "result", hopToolError: "tool_error", hopReplayed: replayedResult, hopNoCandidate: "no_candidate", hopAttempts: "attempts",
	hopRejected: "rejected", hopBudget: "budget", hopDeadline: "deadline", hopUnknown: "unknown", hopContract: "contract",
	hopQuestion: "question", hopDraining: "draining", hopCancelled: "cancelled", hopStore: "store", hopOther: other,
}

// Tools counts and times the hops that are made with t.
func (m *Metrics) Tools(t workflow.Tools) workflow.Tools { return &tools{m, t} }

type tools struct {
	m    *Metrics
	next workflow.Tools
}

// Do implements [workflow.Tools]. A decision alone is no hop: it is timed as one of
// the router's decisions.
func (t *tools) Do(ctx context.Context, c state.Call) (state.Answer, error) {
	if c.RouteOnly {
		return t.next.Do(ctx, c)
	}
	begun := time.Now()
	a, err := t.next.Do(ctx, c)
	how := hopAnswered
	switch {
	case err != nil:
		how = outcomeOf(err)
	case a.Replayed:
		how = hopReplayed
	case a.IsError:
		how = hopToolError
	}
	t.m.hopOutcomes[how].Inc()
	switch how {
	case hopReplayed: // nothing was done: it has no duration
		t.m.duplicates.WithLabelValues(replayedResult).Inc()
		return a, err
	case hopBudget:
		t.m.budgetExhausted.Inc()
	}
	t.m.hopDuration.Observe(time.Since(begun).Seconds())
	return a, err
}

// outcomeOf reads an error's type, never its text. What holds others stands first.
func outcomeOf(err error) outcome {
	switch {
	case errors.Is(err, graph.ErrInterrupt):
		return hopQuestion
	case is[*state.JournalError](err), errors.Is(err, state.ErrLeaseLost), errors.Is(err, state.ErrUnavailable):
		return hopStore
	case is[*router.UnknownOutcomeError](err):
		return hopUnknown
	case is[*router.BudgetError](err):
		return hopBudget
	case is[*router.DeadlineError](err):
		return hopDeadline
	case errors.Is(err, state.ErrDraining):
		return hopDraining
	case is[*router.NoCandidateError](err):
		return hopNoCandidate
	case is[*router.RejectedError](err):
		return hopRejected
	case is[*router.ContractError](err):
		return hopContract
	case errors.Is(err, context.Canceled):
		return hopCancelled
	case is[*router.AttemptsError](err):
		return hopAttempts
	}
	return hopOther
}

func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

// OnDecision implements [router.Observer].
func (m *Metrics) OnDecision(_ router.HopInfo, d router.Decision) {
	m.decision.Observe(d.Took.Seconds())
	m.servers.of(d.Picked).picks.Inc()
}

// OnAttempt implements [router.Observer].
func (m *Metrics) OnAttempt(_ router.HopInfo, a router.AttemptInfo) {
	m.attempts.Inc()
	if a.Attempt > 1 {
		m.retries.Inc()
	}
}

// OnOutcome implements [router.Observer].
func (m *Metrics) OnOutcome(_ router.HopInfo, a router.AttemptInfo, o router.OutcomeInfo) {
	s := m.servers.of(a.Server)
	s.duration.Observe(o.Duration.Seconds())
	if o.Status == state.CallSuccess {
		s.succeeded.Inc()
	} else {
		m.calls.WithLabelValues(s.name, statusLabel(o.Status)).Inc()
	}
	if o.Code != "" {
		m.errors.WithLabelValues(s.name, codeLabel(o.Code)).Inc()
	}
	if o.IsError {
		m.toolErrors.WithLabelValues(s.name).Inc()
	}
}

// OnProgress implements [router.Observer].
func (m *Metrics) OnProgress(router.HopInfo, router.AttemptInfo, router.Progress) {}

var statuses = []state.CallStatus{state.CallSuccess, state.CallTimeout, state.CallError, state.CallRejected, state.CallCancelled, state.CallWaiting}

func statusLabel(s state.CallStatus) string {
	if slices.Contains(statuses, s) {
		return string(s)
	}
	return other
}

var codes = []router.Code{
	router.AuthRequired, router.AuthMismatch, router.CapabilityMismatch, router.OutputInvalid, router.VersionUnsupported, router.SessionExpired,
	router.ServerOverload, router.ServerError, router.Timeout, router.Cancelled, router.Transport, router.IdempotencyConflict,
}

func codeLabel(c router.Code) string {
	if slices.Contains(codes, c) {
		return string(c)
	}
	return other
}
