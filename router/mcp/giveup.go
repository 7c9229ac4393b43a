package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"junction/router"
	"junction/state"
)

// afterCancel bounds how long a task that was given up is looked after, in the
// background: it is asked to end, and then how it did.
const afterCancel = 30 * time.Second

// lookedAfter bounds how many such tasks a client has at once. Beyond it they are
// asked to end, and not looked after.
const lookedAfter = 64

// giveUp has the task of a wait that failed with e cancelled, off the caller's
// path, unless it is to go on.
func (w *wait) giveUp(e *router.CallError) {
	if w.goesOn(e) {
		return
	}
	l := w.line
	if l.conn != nil {
		l.leave()
		l.leave = func() {}
		w.line.conn = nil // it is l's to give back
	}
	l.join, l.silent, l.heard = nil, nil, nil
	if !w.p.client.background(func(said func()) {
		defer l.hangUp()
		l.cancelTask(w.p.client.base, said, w.seed, w.task.Poll)
	}) {
		l.hangUp()
	}
}

// goesOn reports that the task is left running: somebody else waits for its end,
// or will, or a cancel would change nothing.
func (w *wait) goesOn(e *router.CallError) bool {
	if cause := context.Cause(w.f.ctx); cause != nil {
		return errors.Is(cause, state.ErrDraining) || errors.Is(cause, state.ErrLeaseLost)
	}
	// One that asks for what nobody can give would wait for ever.
	return e.Code != router.OutputInvalid || w.last == nil || w.last.Status != taskInput
}

// cancelTask asks a task to end, and then whether it has: the answer to the first
// is only that it was heard (R28). A result that comes is late, and counted.
func (l *line) cancelTask(base context.Context, said func(), seed uint64, poll time.Duration) {
	ctx, cancel := context.WithTimeout(base, afterCancel)
	defer cancel()
	_, e := l.put(ctx, methodTaskCancel, nil, pollWithin)
	said()
	if e != nil && ctx.Err() != nil {
		return
	} // an error of the server's says that the task has ended, or is gone: so will its status
	select {
	case l.p.client.tending <- struct{}{}:
		defer func() { <-l.p.client.tending }()
	default:
		return
	}
	for n := 1; ; n++ {
		raw, e := l.put(ctx, methodTaskGet, nil, pollWithin)
		if e != nil {
			return
		}
		t, e := readStatus(raw, l.task)
		if e != nil {
			return
		}
		if t.ended() {
			if t.Status != taskCancelled {
				l.p.tally.add(LateAnswer)
			}
			l.conn.log.Debug("a task that was given up has ended", "status", t.Status)
			return
		}
		if d := t.poll(); d > 0 {
			poll = d
		}
		wait := time.NewTimer(pollAfter(poll, afterCancel, n, seed))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}

// background runs f for the client, which calls said once it has told a server that
// its task is given up; false: the client is closed, and f was not run.
func (c *Client) background(f func(said func())) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return false
	}
	c.parting.Add(1)
	said := sync.OnceFunc(c.parting.Done)
	c.work.Go(func() {
		defer said()
		f(said)
	})
	return true
}

// lastWord bounds how long a closing client waits until servers have heard that
// their tasks are given up.
const lastWord = 2 * time.Second

// lastWords lets such requests that are under way arrive.
func (c *Client) lastWords(ctx context.Context) {
	heard := make(chan struct{})
	go func() {
		c.parting.Wait()
		close(heard)
	}()
	limit := time.NewTimer(lastWord)
	defer limit.Stop()
	select {
	case <-heard:
	case <-limit.C:
	case <-ctx.Done():
	}
}
