package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/health"
	"junction/state"
)

// A server may make a task of a call: it then goes on when the connection, the
// worker or the run ends. Its id becomes part of the attempt's intent before it is
// waited for, so that a later run asks for its end instead of calling again.
//
// Orderings and crash points:
//
//	before the id is durable   the intent is open without a task: unknown, by effect
//	while it runs              the intent names the task: the next run re-attaches
//	it ended, not recorded     the same; the server still knows its end
//	a drain, a lost lease      the wait ends, nothing is cancelled, the intent stays
//	a cancel                   the server is asked to cancel it; unknown, by effect

// watch ends the wait for an attempt.
type watch struct {
	h         *hop
	rec       *state.Record
	ctx       context.Context // of the call
	cancel    context.CancelCauseFunc
	unwritten error // why the task's id could not be stored
}

// watch returns what a call runs under: a drain cancels it when it is safe, and
// once it has become a task.
func (h *hop) watch(ctx context.Context, rec *state.Record) *watch {
	w := &watch{h: h, rec: rec}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if rec.Effect == state.Safe || rec.Remote != nil {
		w.heed()
	}
	return w
}

// heed has a drain end the wait.
func (w *watch) heed() {
	draining := state.Draining(w.ctx)
	if draining == nil {
		return
	}
	go func() {
		select {
		case <-draining:
			w.cancel(state.ErrDraining)
		case <-w.ctx.Done():
		}
	}()
}

func (w *watch) stop() { w.cancel(nil) }

// onTask makes the task part of the attempt's intent, which stays open.
func (w *watch) onTask(ctx context.Context, t state.RemoteTask) error {
	first := w.rec.Remote == nil
	w.rec.Remote = &t
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := w.h.journaled.Intent(ctx, *w.rec); err != nil {
		w.unwritten = err
		return err
	}
	if first && w.rec.Effect != state.Safe {
		w.heed()
	}
	return nil
}

// left reports that the attempt is not over: it is a task whose end a later run
// asks for, or one whose id could not be stored.
func (w *watch) left() error {
	cause := context.Cause(w.ctx)
	switch {
	case w.unwritten != nil:
		return w.unwritten
	case w.rec.Remote == nil:
		return nil
	case errors.Is(cause, state.ErrDraining):
		return w.h.drained()
	case errors.Is(cause, state.ErrLeaseLost):
		return fmt.Errorf("%s: %w", w.h.what, cause)
	}
	return nil
}

// overdue is how long a task is asked for that was to have ended before this run
// began.
const overdue = 15 * time.Second

// reattach waits for the end of the task that an earlier run of this round left
// at a server. Its clock is the attempt's own. found is false when that server is
// not there any more.
func (h *hop) reattach(ctx context.Context, rec state.Record) (end ending, c *choice, found bool, err error) {
	left := max(min(time.Until(rec.Started.Add(rec.Max)), rec.Max), overdue)
	begun := time.Now()
	for n := 1; ; n++ {
		if err := h.interrupted(ctx); err != nil {
			return end, nil, true, err
		}
		if err := h.journal.MaySend(); err != nil {
			return end, nil, true, err
		}
		if c = h.choiceOf(ctx, rec); c != nil {
			break
		}
		if time.Since(begun) > left {
			return end, nil, false, nil
		}
		h.r.roster.doubtErrors()
		h.refreshErr = h.r.discovery.Refresh(ctx)
		if err := h.wait(ctx, backoffBase+backoff(n, uniform(h.seedNext())), nil); err != nil {
			return end, nil, true, err
		}
	}
	c.request = ToolCall{Tool: rec.Tool, Attach: rec.Remote, Max: max(left-time.Since(begun), time.Second)}
	c.entry.series.Begin(0) // it runs there already: its place is taken, whatever is declared
	h.record = &rec
	end, err = h.conduct(ctx, c, &rec)
	return end, c, true, err
}

// choiceOf is the server and offer that an attempt was made with; nil when there
// is none that fits any more.
func (h *hop) choiceOf(ctx context.Context, rec state.Record) *choice {
	p := h.gather(ctx)
	for _, e := range p.entries {
		if e.server.ID == rec.Server && e.offer.Tool == rec.Tool {
			return &choice{entry: e, contract: p.contract, decision: h.decision}
		}
	}
	return nil
}

// resumeTask re-attaches to the task of an open attempt, and decides about a
// failure as about any other. gone: the server is not there, and what became of the
// attempt is unknown.
func (h *hop) resumeTask(ctx context.Context, rec state.Record) (a state.Answer, settled, gone bool, err error) {
	end, c, found, err := h.reattach(ctx, rec)
	switch {
	case err != nil || !found:
		return a, false, !found, err
	case end.asks != nil:
		return a, false, false, h.askInput(ctx, *end.asks)
	case end.failed == nil:
		return end.answer, true, false, nil
	}
	if err := h.proceed(ctx, c, end.failed); err != nil {
		a, settled, err = h.settle(ctx, err)
		return a, settled, false, err
	}
	return a, false, false, nil
}

// follow makes an attempt of answers to a task's questions: nothing is called, the
// task goes on.
func (h *hop) follow(c *choice, rec *state.Record) {
	if h.task != nil {
		rec.Remote = h.task
		c.request = ToolCall{Tool: rec.Tool, Attach: h.task}
	}
}

// inquired records that the server asks for input before it goes on.
func (h *hop) inquired(ctx context.Context, c *choice, rec *state.Record, in *state.Input, took time.Duration) (ending, error) {
	h.release(c, health.Success, took)
	rec.Status, rec.Execution, rec.Input, rec.Duration = state.CallWaiting, state.NotExecuted, in, time.Since(rec.Started)
	err := h.outcome(ctx, *rec, true) // what it keeps for the server is in no other place
	h.observe(h.info(), AttemptInfo{Attempt: rec.Attempt, Server: rec.Server, Tool: rec.Tool, Effect: rec.Effect}, rec)
	return ending{asks: rec}, err
}
