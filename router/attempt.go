package router

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"junction/health"
	"junction/state"
	"junction/state/value"
)

// recordWithin bounds how long an outcome's record may take once the caller is
// gone: what happened must not be lost for want of a listener.
const recordWithin = 10 * time.Second

// ending is how an attempt ended: with an answer, with a failure to decide upon,
// or with questions of the server.
type ending struct {
	answer state.Answer
	failed *CallError
	by     *choice       // that failed
	asks   *state.Record // the attempt's record, whose Input holds the questions
}

// longestRest bounds what a server's Retry-After can keep it without calls: no
// server starves for ever, whatever a proxy in front of it once said.
const longestRest = time.Hour

// attempt sends one request and records how it ended. An error ends the hop at
// once: nothing more can be recorded, or a task is left to a later run.
func (h *hop) attempt(ctx context.Context, c *choice) (ending, error) {
	rec, err := h.newRecord(c)
	if err == nil {
		h.follow(c, rec)
		err = h.keepSession(ctx, c)
	}
	if err == nil {
		err = h.intend(ctx, rec, rec.Effect != state.Safe)
	}
	if err != nil {
		h.release(c, health.Ignored, 0)
		return ending{}, err
	}
	return h.conduct(ctx, c, rec)
}

// conduct makes the request that rec stands for and records how it ended.
func (h *hop) conduct(ctx context.Context, c *choice, rec *state.Record) (ending, error) {
	durable := rec.Effect != state.Safe
	info := h.info()
	h.tellBegun(c, infoOf(rec))
	f := h.race(ctx, c, rec)
	c, rec = f.c, f.rec
	at, took, result, failed, err := f.at, f.took, f.result, f.failed, f.err
	if err != nil {
		h.release(c, health.Ignored, took)
		return ending{}, err
	}
	if refused := ledgerVerdict(rec.Effect, result, failed); refused != nil {
		result, failed = nil, refused
	}
	if failed == nil {
		rec.ServerTook = result.Duration
		if h.inputs++; result.Input == nil {
			h.inputs = 0
		} else if h.inputs <= mostInputs {
			return h.inquired(ctx, c, rec, result.Input, took)
		}
	}
	var v any
	switch {
	case failed == nil && result.Input != nil:
		failed = &CallError{Code: OutputInvalid, Execution: state.Unknown, Message: fmt.Sprintf("the server asked for input %d times in a row", h.inputs)}
	case failed == nil:
		if v, err = h.r.answer(ctx, &c.entry, c.contract, result); err != nil {
			failed = &CallError{Code: OutputInvalid, Execution: state.Executed, Message: err.Error(), Err: err}
		}
	}
	h.release(c, outcomeOf(result, failed), took)
	rec.Duration = time.Since(rec.Started)
	if failed == nil {
		a, err := h.succeed(ctx, c, rec, result, v, durable)
		h.observe(info, at, rec)
		return ending{answer: a}, err
	}
	err = h.failed(ctx, c, rec, failed, durable)
	h.observe(info, at, rec)
	return ending{failed: failed, by: c}, err
}

func (h *hop) newRecord(c *choice) (*state.Record, error) {
	decision, err := encodeDecision(c.decision)
	if err != nil {
		return nil, err
	}
	h.last++
	rec := &state.Record{
		// Questions about the attempt are named by these: the next run, which reads
		// the record from the journal, must find their answers.
		Hop: h.id(), Round: h.journaled.Round(), Attempt: h.last, Capability: h.call.Capability,
		Server: c.entry.server.ID, Endpoint: c.entry.server.Endpoint(), Tool: c.entry.offer.Tool,
		Session: c.entry.known.description.Session.ID,
		Effect:  effectOf(c.entry.offer), Max: max(h.max-h.queued, time.Millisecond), Started: time.Now(), Decision: decision,
	}
	if rec.Effect == state.Conditional {
		rec.Key, rec.Ledger, rec.Keeps = h.journaled.Key(), h.r.ledgerOf(&c.entry), keepsOf(c.entry.offer)
	}
	if name := c.entry.server.Name; name != rec.Server {
		rec.Service = name
	}
	h.record = rec
	return rec, nil
}

// intend makes the intent durable where the effect asks for it, and checks that
// this worker may still send: before, so that no intent is left of what was not
// sent, and after, because storing took time. Choosing took time as well: a drain
// may have begun since.
func (h *hop) intend(ctx context.Context, rec *state.Record, durable bool) error {
	if err := h.interrupted(ctx); err != nil {
		return err
	}
	if err := h.journal.MaySend(); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	err := h.journaled.Intent(ctx, *rec)
	if err == nil {
		err = h.journal.MaySend()
	}
	if err != nil {
		return errors.Join(err, h.unsent(ctx, *rec, err))
	}
	return nil
}

// unsent notes that a request did not leave although its intent may be durable:
// a store that fails may have stored it all the same. The note rides in the
// task's next store operation.
func (h *hop) unsent(ctx context.Context, rec state.Record, why error) error {
	rec.Status, rec.Execution, rec.Duration = state.CallRejected, state.NotExecuted, time.Since(rec.Started)
	rec.Message = "it was not sent: " + why.Error()
	return h.outcome(ctx, rec, false)
}

// sending is a request that is ready to leave.
type sending struct {
	h      *hop
	w      *watch
	ctx    context.Context
	server *Server
	call   ToolCall
}

// prepare makes the request of an attempt. A drain cancels it when it is safe, and
// leaves a task to the next run, whatever its effect. What it needs of the hop it
// takes now: the request may be made on another goroutine.
func (h *hop) prepare(ctx context.Context, c *choice, rec *state.Record, at AttemptInfo) *sending {
	w, info := h.watch(ctx, rec), h.info()
	call := c.request
	call.Session = h.sessionOf(c)
	if call.Max == 0 {
		call.Max = max(h.max-h.queued, time.Millisecond)
	}
	call.Idle = min(h.idle, call.Max)
	call.Meta = h.traced(call.Meta, rec)
	call.Input, call.MayAsk, call.OnTask, call.Ask = h.input, h.asks(), w.onTask, h.liveAsk(rec)
	call.Progress = func(progress, total float64, message string) {
		h.r.options.Observer.OnProgress(info, at, Progress{Progress: progress, Total: total, Message: message})
	}
	return &sending{h: h, w: w, ctx: withAttempt(w.ctx, info, at), server: c.entry.server, call: call}
}

// make makes the request. err: the hop ends, since a task is left to a later run.
func (s *sending) make() (result *ToolResult, failed *CallError, err error) {
	defer s.w.stop()
	defer func() {
		if p := recover(); p != nil {
			result, failed = nil, &CallError{Code: ServerError, Execution: state.Unknown,
				Message: fmt.Sprintf("a fault of ours while calling: %v", p), Err: fmt.Errorf("%v\n%s", p, debug.Stack())}
		}
	}()
	result, failure := s.h.r.caller.Call(s.ctx, s.server, s.call)
	switch {
	case failure != nil:
		if err := s.w.left(); err != nil {
			return nil, nil, err
		}
		if call, ok := errors.AsType[*CallError](failure); ok {
			return nil, call, nil
		}
		return nil, &CallError{Code: Transport, Execution: state.Unknown, Message: failure.Error(), Err: failure}, nil
	case result == nil:
		return nil, &CallError{Code: OutputInvalid, Execution: state.Unknown, Message: "the server answered nothing"}, nil
	}
	return result, nil, nil
}

// release gives the place back and tells the server's health how it went.
func (h *hop) release(c *choice, o health.Outcome, took time.Duration) {
	c.entry.series.End(time.Now(), o, took)
	h.r.freed.send()
}

func outcomeOf(result *ToolResult, failed *CallError) health.Outcome {
	switch {
	case failed != nil:
		return blameOf(failed)
	case result.IsError:
		return health.ToolError
	}
	return health.Success
}

// succeed records a result, which is final.
func (h *hop) succeed(ctx context.Context, c *choice, rec *state.Record, result *ToolResult, v any, durable bool) (state.Answer, error) {
	encoded, err := value.Encode(v)
	if err != nil {
		return state.Answer{}, fmt.Errorf("the result of %s: %w", h.what, err)
	}
	rec.Status, rec.IsError, rec.Final = state.CallSuccess, result.IsError, true
	rec.Result, rec.OutputHash = encoded, state.Hash(encoded)
	// Bound first, so that no later run finds the result and forgets the session;
	// what was answered is recorded whatever becomes of that.
	bound := h.bind(ctx, c)
	if err := errors.Join(h.outcome(ctx, *rec, durable), bound, h.forget(ctx)); err != nil {
		return state.Answer{}, err
	}
	return state.Answer{
		Value: v, IsError: result.IsError, Hop: h.id(), Server: rec.Server, Endpoint: rec.Endpoint,
		Session: c.entry.known.description.Session.ID, Tool: rec.Tool,
	}, nil
}

// failed records a failure and what follows from it for other hops.
func (h *hop) failed(ctx context.Context, c *choice, rec *state.Record, e *CallError, durable bool) error {
	rec.Status, rec.Execution, rec.Code, rec.Message = statusOf(e), executionOf(e), string(e.Code), messageOf(e)
	if inProgress(e) {
		rec.Execution = state.Unknown // an earlier request under the key may still execute
	}
	now := time.Now()
	if e.RetryAfter > 0 {
		c.entry.series.Rest(now, now.Add(min(e.RetryAfter, longestRest)))
	}
	if row, ok := rules[e.Code]; !ok || row.doubt {
		h.r.roster.doubt(rec.Server)
	}
	h.made++
	h.paused, h.queued, h.stuck, h.refreshed, h.redialled, h.only = false, 0, 0, false, false, ""
	h.attempts = append(h.attempts, &AttemptError{Attempt: rec.Attempt, Server: rec.Server, Tool: rec.Tool, Err: e})
	return h.outcome(ctx, *rec, durable)
}

// outcome records how an attempt ended, even when the caller is gone.
func (h *hop) outcome(ctx context.Context, rec state.Record, durable bool) error {
	if !durable {
		return h.journaled.Outcome(ctx, rec, false) // waits in memory
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	return h.journaled.Outcome(ctx, rec, durable)
}

func (h *hop) observe(info HopInfo, at AttemptInfo, rec *state.Record) {
	h.r.options.Observer.OnOutcome(info, at, OutcomeInfo{
		Status: rec.Status, Execution: rec.Execution, Code: Code(rec.Code), Message: rec.Message,
		IsError: rec.IsError, Duration: rec.Duration,
	})
}

// messageOf is the failure for people; which clock ended the call is part of it.
func messageOf(e *CallError) string {
	text := e.Message
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if e.Clock != "" {
		return fmt.Sprintf("%s clock: %s", e.Clock, text)
	}
	return text
}
