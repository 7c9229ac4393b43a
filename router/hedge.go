package router

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"junction/health"
	"junction/state"
)

// Hedge has a safe hop ask a second server when the first one takes long: the answer
// that comes first counts, the other request is cancelled. The zero value is off.
//
// It goes to another server only, one that has a place, and takes a retry of the
// worker's budget: where there is none, and where nothing is known of latencies yet,
// the first request is waited for as without. What runs as a task by then, or has
// asked a person, is left alone. Conditional and unsafe hops are never hedged.
//
// Both requests are attempts of the hop, in the order in which they left. The one
// that lost is recorded as cancelled. It is no failure of its server, but that it
// took so long without an answer counts as its latency.
type Hedge struct {
	After time.Duration // from when the request left; 0: see P95
	P95   bool          // after the median of the candidates' P95, of their last five minutes
}

func (h Hedge) on() bool { return h.After > 0 || h.P95 }

// errOutrun is why a request is cancelled whose hop was answered elsewhere.
var errOutrun = errors.New("another server answered first")

// flight is one request of an attempt.
type flight struct {
	c      *choice
	rec    *state.Record
	at     AttemptInfo
	begun  time.Time
	took   time.Duration
	cancel context.CancelCauseFunc
	bound  atomic.Bool // it became a task, or asks a person

	result *ToolResult
	failed *CallError
	err    error // nothing more can be recorded, or the task is left to a later run
}

// launch makes the request on a goroutine of its own, which tells landed when it is
// over, as a request is whose context has ended.
func (h *hop) launch(ctx context.Context, c *choice, rec *state.Record, landed chan<- *flight, second bool) *flight {
	f := &flight{c: c, rec: rec, at: infoOf(rec), begun: time.Now()}
	ctx, f.cancel = context.WithCancelCause(ctx)
	s := h.prepare(ctx, c, rec, f.at)
	if second {
		s.call.MayAsk, s.call.OnTask, s.call.Ask = false, nil, nil
	} else {
		onTask, ask := s.call.OnTask, s.call.Ask
		s.call.OnTask = func(ctx context.Context, t state.RemoteTask) error {
			f.bound.Store(true)
			return onTask(ctx, t)
		}
		if ask != nil {
			s.call.Ask = func(ctx context.Context, q Question) (QuestionAnswer, error) {
				f.bound.Store(true)
				return ask(ctx, q)
			}
		}
	}
	go func() {
		f.result, f.failed, f.err = s.make()
		f.took = time.Since(f.begun)
		landed <- f
	}()
	return f
}

// race makes the request of an attempt, and a second one elsewhere where it takes
// long. It returns the one that the hop goes by; of the other nothing is left to do.
func (h *hop) race(ctx context.Context, c *choice, rec *state.Record) *flight {
	after := h.hedgeAfter(c, rec)
	if after <= 0 {
		f := &flight{c: c, rec: rec, at: infoOf(rec), begun: time.Now()}
		f.result, f.failed, f.err = h.prepare(ctx, c, rec, f.at).make()
		f.took = time.Since(f.begun)
		return f
	}
	landed := make(chan *flight, 2)
	first := h.launch(ctx, c, rec, landed, false)
	defer first.cancel(nil)
	late := time.NewTimer(after)
	defer late.Stop()
	select {
	case <-landed:
		return first
	case <-late.C:
	}
	other := h.second(ctx, first)
	if other == nil {
		return <-landed
	}
	second := h.launch(ctx, other, h.record, landed, true)
	defer second.cancel(nil)
	h.tellBegun(other, second.at)
	return h.finishRace(ctx, first, second, landed)
}

// finishRace waits for the first answer, or for both failures.
func (h *hop) finishRace(ctx context.Context, first, second *flight, landed <-chan *flight) *flight {
	one := <-landed
	other := second
	if one == second {
		other = first
	}
	if one.failed != nil && one.err == nil {
		if err := h.lost(ctx, one); err != nil {
			other.cancel(errOutrun)
			<-landed
			other.err = errors.Join(err, other.err)
			h.record = other.rec
			return other
		}
		<-landed
		h.record = other.rec
		return other
	}
	other.cancel(errOutrun)
	<-landed
	if err := h.outrun(ctx, other); err != nil {
		one.err = errors.Join(one.err, err)
	}
	h.record = one.rec
	return one
}

// lost records a request that failed while the other is under way.
func (h *hop) lost(ctx context.Context, f *flight) error {
	h.release(f.c, outcomeOf(nil, f.failed), f.took)
	id := f.c.entry.server.ID
	h.tried[id] = true
	if after(f.failed, state.Safe) == other {
		h.barred[id] = "this hop failed there: " + string(f.failed.Code)
	}
	f.rec.Duration = time.Since(f.rec.Started)
	err := h.failed(ctx, f.c, f.rec, f.failed, false)
	h.observe(h.info(), f.at, f.rec)
	return err
}

// outrun records a request that was cancelled since the other was answered.
func (h *hop) outrun(ctx context.Context, f *flight) error {
	if f.err == nil && f.failed == nil {
		h.release(f.c, outcomeOf(f.result, nil), f.took) // it answered all the same, a moment late
	} else {
		f.c.entry.series.Outlasted(time.Now(), f.took)
		h.release(f.c, health.Ignored, f.took)
	}
	rec := f.rec
	rec.Status, rec.Execution, rec.Code, rec.Message = state.CallCancelled, state.Unknown, string(Cancelled), errOutrun.Error()
	rec.Duration = time.Since(rec.Started)
	err := h.outcome(ctx, *rec, false)
	h.observe(h.info(), f.at, rec)
	return err
}

// hedgeAfter is when a second request may leave; 0: none may.
func (h *hop) hedgeAfter(c *choice, rec *state.Record) time.Duration {
	by := h.r.options.Hedge
	switch {
	case !by.on() || c.pool == nil || rec.Effect != state.Safe || rec.Remote != nil:
		return 0
	case h.bound.Server != "" || h.only != "" || h.kin != "" || h.task != nil || h.input != nil || h.lock.held() || h.staysWithSession():
		return 0
	case h.made+2 > h.limit:
		return 0
	case by.After > 0:
		return by.After
	}
	var all []time.Duration
	now := time.Now()
	for i := range c.pool.entries {
		var r health.Reading
		if c.pool.entries[i].series.Read(now, &r); r.P95 > 0 {
			all = append(all, r.P95)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// second chooses where the second request goes, and takes a place and a retry for
// it; nil: nowhere. It waits for nothing. The record of the attempt is h.record.
func (h *hop) second(ctx context.Context, first *flight) *choice {
	if first.bound.Load() || h.interrupted(ctx) != nil || h.journal.MaySend() != nil {
		return nil
	}
	h.tried[first.c.entry.server.ID] = true
	p, err := h.bar(ctx, first.c.pool)
	if err != nil {
		return nil
	}
	for i := range p.entries {
		if e := &p.entries[i]; effectOf(e.offer) != state.Safe {
			e.exclude("effect", "a hop is hedged where it is safe only")
		}
	}
	picked, level, _ := h.draw(p)
	if picked < 0 || level != fresh || h.r.budget.retry(time.Now()) > 0 {
		return nil
	}
	c := h.take(ctx, p, picked)
	if c == nil {
		return nil
	}
	if h.keepSession(ctx, c) != nil {
		h.release(c, health.Ignored, 0) // the first one's record tells what the store has
		return nil
	}
	if _, err := h.newRecord(c); err != nil {
		h.release(c, health.Ignored, 0)
		return nil
	}
	return c
}

func infoOf(rec *state.Record) AttemptInfo {
	return AttemptInfo{Attempt: rec.Attempt, Server: rec.Server, Tool: rec.Tool, Effect: rec.Effect}
}

// tellBegun tells who watches of an attempt that begins.
func (h *hop) tellBegun(c *choice, at AttemptInfo) {
	info := h.info()
	if c.decision.Picked != "" { // else a task is attached to, where it is
		h.r.options.Observer.OnDecision(info, c.decision)
	}
	h.r.options.Observer.OnAttempt(info, at)
}
