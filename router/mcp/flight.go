package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"junction/router"
)

// Clocks of a call that sets neither.
const (
	defaultIdle = 30 * time.Second
	defaultMax  = 5 * time.Minute
)

// flight is a call on its way: its coordinator, with the real time, the context
// that ends with its clocks or its caller, and who is told of its progress. The
// clocks start when the call does, so queueing and connecting count.
type flight struct {
	ctx    context.Context
	cancel context.CancelCauseFunc // nil: nothing of ours ends ctx
	begun  time.Time
	until  time.Time // when the maximum, or the caller's deadline, ends
	timer  *time.Timer

	mu     sync.Mutex
	is     coordinator
	to     observer
	landed bool
}

// limits resolves what a call leaves unsaid: Idle alone never exceeds its
// maximum, Max alone is the idle time too.
func limits(c *router.ToolCall) (idle, maximum time.Duration) {
	switch {
	case c.Idle <= 0 && c.Max <= 0:
		return defaultIdle, defaultMax
	case c.Idle <= 0:
		return c.Max, c.Max
	case c.Max <= 0:
		return c.Idle, max(c.Idle, defaultMax)
	}
	return c.Idle, c.Max
}

// takeOff begins a call. Its land must be called.
func takeOff(ctx context.Context, c *router.ToolCall) *flight {
	idle, maximum := limits(c)
	f := &flight{begun: time.Now()}
	f.until = f.begun.Add(maximum)
	f.is = coordinator{span: idle, idle: idle, maximum: maximum}
	if deadline, ok := ctx.Deadline(); ok {
		f.is.caller = deadline.Sub(f.begun)
		if f.is.caller == 0 {
			f.is.caller = -1
		}
		if deadline.Before(f.until) {
			f.until = deadline
		}
	}
	f.to.tell = c.Progress
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock() // the timer may fire at once
	f.timer = time.AfterFunc(f.is.due(), f.tick)
	return f
}

// alone is a request that is no call of a tool: only ctx bounds it.
func alone(ctx context.Context, id int64) *flight {
	return &flight{ctx: ctx, begun: time.Now(), is: coordinator{id: id}}
}

// land releases the timer and ends the context. When it returns no progress is
// told any more.
func (f *flight) land() {
	defer f.cancel(nil)
	f.mu.Lock()
	f.landed = true
	f.timer.Stop()
	f.mu.Unlock()
	f.lastWord()
}

// at is the time since the call began.
func (f *flight) at() time.Duration { return time.Since(f.begun) }

// tick is the timer's. Progress does not touch the timer: one that fires too early
// is set again.
func (f *flight) tick() {
	f.mu.Lock()
	which := f.is.tick(f.at())
	if which == noClock {
		f.wakeLocked()
	}
	f.mu.Unlock()
	if which != noClock {
		f.cancel(ranOut(which))
	}
}

// wakeLocked sets the timer to the next clock that ends.
func (f *flight) wakeLocked() {
	if !f.landed {
		f.timer.Reset(max(0, f.is.due()-f.at()))
	}
}

// ranOut is the cause that a clock gives for the end of a context.
func ranOut(which clock) error {
	switch which {
	case idleClock:
		return errIdle
	case maximumClock:
		return errMaximum
	}
	return context.DeadlineExceeded
}

// begin starts a request of the call; a failure: the call has ended.
func (f *flight) begin(id int64) *router.CallError {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	if !f.is.begin(f.at(), id) {
		return f.endedLocked(false)
	}
	return nil
}

// leave asks whether the request may go out now.
func (f *flight) leave() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	return f.is.leave(f.at())
}

// stay takes leave back: nothing of the request was taken.
func (f *flight) stay() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.is.stay()
}

// answered takes an answer in; noStray: it is the request's result.
func (f *flight) answered(id int64) Stray {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	return f.is.answer(f.at(), id)
}

// settle is asked by who waits for the answer and was woken by something else. It
// returns what ended the request: its context, or else the connection.
func (f *flight) settle() phase {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	f.is.disconnect(f.at())
	return f.is.phase
}

// goesOn takes the call up again whose answer was the promise of a result.
func (f *flight) goesOn() (id int64, e *router.CallError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.is.goesOn(f.at()) || f.ctx.Err() != nil {
		f.noticeLocked()
		return 0, f.endedLocked(true)
	}
	return f.is.id, nil
}

// stirred takes note that the call's task has told something new: message, beside
// the last progress.
func (f *flight) stirred(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	if f.is.stirs(f.at()) && message != "" {
		u := f.to.latest
		u.message = message
		f.tellLocked(u)
	}
}

// finish completes a call that went on, unless something else ended it before.
func (f *flight) finish() phase {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	f.is.finish(f.at())
	return f.is.phase
}

// ended is the failure of a request whose context ended, or a clock of which did.
func (f *flight) ended(sent bool) *router.CallError {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.endedLocked(sent)
}

func (f *flight) endedLocked(sent bool) *router.CallError {
	if f.is.phase == timedOut {
		return endedBy(ranOut(f.is.ranOut), sent)
	}
	return ended(f.ctx, sent)
}

// noticeLocked hands the end of the context on to the coordinator.
func (f *flight) noticeLocked() {
	if f.is.phase != started || f.ctx.Err() == nil {
		return
	}
	if at := f.at(); errors.Is(f.ctx.Err(), context.DeadlineExceeded) {
		f.is.expire(at)
	} else {
		f.is.cancel(at)
	}
}

// left reports whether the request was handed to the wire.
func (f *flight) left() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is.left
}

// owesNotice reports whether the server is to be told that nobody waits any more.
func (f *flight) owesNotice() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is.notice()
}

// unhurried is a context for work on an answer that is there: the caller's cancel
// comes too late for it, the clock does not.
func (f *flight) unhurried() (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(context.WithoutCancel(f.ctx), f.until, errMaximum)
}

// asks stops the idle clock while a person is asked, until the returned function
// is called. The maximum goes on.
func (f *flight) asks() (replied func()) {
	f.mu.Lock()
	f.is.ask(f.at())
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.is.replied(f.at())
		f.wakeLocked() // it may be set for the maximum
	}
}
