package router

import (
	"context"
	"errors"
	"time"

	"junction/state"
)

// unsettledError says why a hop cannot go on by itself: attempts that may have
// executed, and nothing that could tell.
type unsettledError struct{ records []state.Record }

func (*unsettledError) Error() string { return "the outcome is unknown" }

// budgetPatience is how long a hop waits for its turn to be tried again.
const budgetPatience = 10 * time.Second

// proceed reads the table after a failed attempt. It returns nil when another
// attempt may be made, and has noted where it may not go.
func (h *hop) proceed(ctx context.Context, c *choice, e *CallError) error {
	id, rec := c.entry.server.ID, h.record
	if err := h.interrupted(ctx); err != nil {
		_, late := errors.AsType[*DeadlineError](err)
		if late && h.asks() && rec.Effect == state.Unsafe && rec.Execution != state.NotExecuted {
			return &unsettledError{[]state.Record{*rec}} // no time is left, but a question needs none
		}
		return err
	}
	open := rec.Execution != state.NotExecuted && rec.Effect == state.Conditional
	h.open = h.open || rec.Execution != state.NotExecuted && rec.Effect != state.Safe
	if rec.Effect == state.Conditional && inProgress(e) {
		return h.awaitLedger(ctx, id, c)
	}
	h.busy = 0
	if open {
		h.lock.add(*rec, c.argsHash)
	}
	h.tried[id] = true
	switch after(e, rec.Effect) {
	case stop:
		return h.exhausted(nil)
	case reconcile:
		return &unsettledError{[]state.Record{*rec}}
	case other:
		h.barred[id] = "this hop failed there: " + string(e.Code)
	case renew:
		if h.bound.Server != "" {
			if err := h.unbind(ctx); err != nil {
				return err
			}
			return h.exhausted(nil)
		}
		if !h.renewed[id] {
			h.renewed[id], h.only = true, id
			h.made-- // the session failed, not the call
			return nil
		}
	}
	if h.lock.forgotten(time.Now()) {
		return &unsettledError{h.lock.last()}
	}
	if h.lock.held() && !open && time.Now().Before(h.lock.patience(h.max)) {
		h.made-- // the ledger was not reached: that is waited for, not counted
		h.paused = false
	}
	if h.made >= h.limit {
		return h.exhausted(nil)
	}
	return h.spend(ctx)
}

// awaitLedger waits with the same key at the same server while the ledger works
// on the first call, as long as that may take.
func (h *hop) awaitLedger(ctx context.Context, id string, c *choice) error {
	if !h.lock.held() {
		h.lock.add(*h.record, c.argsHash)
	}
	if !time.Now().Before(h.lock.patience(h.max)) || h.lock.forgotten(time.Now()) {
		return &unsettledError{h.lock.last()}
	}
	h.made--
	h.busy++
	h.only = id
	return h.wait(ctx, backoffBase+backoff(h.busy, uniform(h.seedNext())), nil)
}

// spend takes a retry from the worker's budget, and waits a little for one.
func (h *hop) spend(ctx context.Context) error {
	wait := h.r.budget.retry(time.Now())
	if wait <= 0 {
		return nil
	}
	if !h.r.budget.enter() {
		return &BudgetError{Attempts: h.exhausted(nil)}
	}
	defer h.r.budget.leave()
	for waited := time.Duration(0); wait > 0; wait = h.r.budget.retry(time.Now()) {
		if waited += wait; waited > budgetPatience {
			return &BudgetError{Attempts: h.exhausted(nil)}
		}
		if err := h.wait(ctx, wait, nil); err != nil {
			return err
		}
	}
	return nil
}

func (h *hop) exhausted(cause error) *AttemptsError {
	return &AttemptsError{Capability: h.what, HopID: h.id(), Attempts: h.attempts, Cause: cause}
}

// settle ends a hop that cannot go on. settled is true with an answer; false
// without an error means that a person said: call again.
func (h *hop) settle(ctx context.Context, err error) (a state.Answer, settled bool, _ error) {
	if open, ok := errors.AsType[*unsettledError](err); ok {
		return h.ask(ctx, open.records)
	}
	_, nowhere := errors.AsType[*NoCandidateError](err)
	if nowhere && h.lock.held() {
		return h.ask(ctx, h.lock.last()) // the ledger cannot be reached: as unsafe
	}
	if errors.Is(err, state.ErrDraining) || ctx.Err() != nil {
		return state.Answer{}, false, err // not failed: it runs again when resumed
	}
	if failed := h.finish(ctx, err); failed != nil {
		return state.Answer{}, false, errors.Join(err, failed)
	}
	if _, counted := errors.AsType[*AttemptsError](err); !counted && len(h.attempts) > 0 {
		err = h.exhausted(err)
	}
	return state.Answer{}, false, err
}

// finish closes the round with a final record, so that the next run of the node
// makes fresh attempts. A round with an unknown outcome stays open.
func (h *hop) finish(ctx context.Context, err error) error {
	if h.lock.held() || h.open {
		return nil
	}
	if h.record != nil {
		h.record.Final = true
		return h.outcome(ctx, *h.record, h.record.Effect != state.Safe)
	}
	rec := state.Record{
		Attempt: 0, Capability: h.call.Capability, Tool: h.call.Tool, Server: h.call.Server, Effect: h.call.Effect,
		Status: state.CallRejected, Execution: state.NotExecuted, Message: err.Error(), Started: time.Now(), Final: true,
	}
	if h.last > 0 { // an earlier run made attempts in this round
		rec.Attempt = h.last + 1
	}
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		rec.Code = coded.Code()
	}
	var encodeErr error
	if rec.Decision, encodeErr = encodeDecision(h.decision); encodeErr != nil {
		return encodeErr
	}
	return h.outcome(ctx, rec, false)
}
