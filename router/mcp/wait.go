package mcp

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"time"

	"junction/router"
	"junction/state"
)

// wait waits for the end of a task that a server made of a call. The task is the
// server's: it goes on when a question about it, the connection or this process
// is lost, and is asked for again over whatever connection there is.
//
//	working ◀──▶ input_required
//	   └──────────────┴──────▶ completed | failed | cancelled
//
// Invariants (R26, R28; the extension io.modelcontextprotocol/tasks; 2025-11-25,
// "Tasks"):
//
//  1. What cannot be asked is no failure of the task: it is asked again, with
//     back-off, until the call's maximum. Nobody knows then whether the task is
//     idle, so that the idle clock stands still.
//  2. A status that brings nothing new is no progress.
//  3. Every failure is of unknown execution: the task had begun.
//  4. Who gives up the wait has the task cancelled, and looks how it ends: the
//     answer to a cancel is no end. A drain, a lost lease, a closed client and a
//     task that could not be recorded end the wait only.
type wait struct {
	p     *peer
	f     *flight
	call  *router.ToolCall
	asker *asker
	task  state.RemoteTask
	line  line
	last  *wireTask       // as last told
	given map[string]bool // questions that were answered, by the server's key
	polls int
	seed  uint64        // of the jitter
	news  chan struct{} // holds a token when the server told that something changed
	held  *held         // nil: no result is held back
}

func newWait(p *peer, f *flight, call *router.ToolCall, a *asker, task state.RemoteTask) *wait {
	h := fnv.New64a()
	h.Write([]byte(task.ID))
	w := &wait{
		p: p, f: f, call: call, asker: a, task: task, given: map[string]bool{},
		seed: p.client.opts.Backoff.Seed ^ h.Sum64(), news: make(chan struct{}, 1),
	}
	a.task.Store(&task.ID)
	w.line = line{p: p, task: task.ID, ask: call.MayAsk, join: w.join, silent: f.asks}
	return w
}

// follow has a task recorded that a server made of a call, and waits for its end.
// c is in use, and is given back.
func (p *peer) follow(f *flight, call *router.ToolCall, a *asker, c *conn, task state.RemoteTask) (*router.ToolResult, *router.CallError) {
	w := newWait(p, f, call, a, task)
	defer w.line.hangUp()
	w.line.take(c)
	// A caller that is gone must still know of the task: it is that caller's to
	// attach to, or to look after.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), recordWithin)
	defer cancel()
	if err := call.OnTask(ctx, task); err != nil {
		return nil, unknown(router.Cancelled, "the server made a task of the call, and it goes on: it could not be recorded, so that nobody waits for it", err)
	}
	return w.end()
}

// recordWithin bounds how long the record of a task may take.
const recordWithin = 10 * time.Second

// join has a connection deliver what belongs to the call.
func (w *wait) join(c *conn) (leave func()) {
	absent, deaf := c.open.attend(w.asker), c.open.hear(w.task.ID, w.news)
	done := func() {}
	if w.call.Attach == nil { // the token is that of the request that began the task
		if f, e := c.goesOn(w.f); e == nil {
			done = f
		} // else a clock has run out, which the wait is about to notice
	}
	return func() { absent(); deaf(); done() }
}

// end waits for the task's end, or for a question that somebody can answer.
func (w *wait) end() (*router.ToolResult, *router.CallError) {
	defer w.line.hangUp()
	defer w.letGo()
	r, e := w.outcome()
	if e == nil {
		return r, nil
	}
	v := *e // it may be shared with others that wait for the connection
	v.Execution = state.Unknown
	w.giveUp(&v)
	return nil, &v
}

func (w *wait) outcome() (*router.ToolResult, *router.CallError) {
	if e := w.answerQuestions(); e != nil {
		return nil, e
	}
	for {
		if !w.rest() {
			return nil, w.f.ended(true)
		}
		if r, e := w.released(); e != nil || r != nil {
			return r, e
		}
		t, e := w.status()
		if e != nil {
			return nil, e
		}
		if r, e := w.judge(t); e != nil || r != nil {
			return r, e
		}
	}
}

// answerQuestions hands the answers of an earlier round to the task. The server
// drops those that it has already, so that they may be sent again.
func (w *wait) answerQuestions() *router.CallError {
	answers, e := inputResponses(w.call.Input)
	if e != nil || answers == nil {
		return e
	}
	if _, e := w.put(w.f.ctx, methodTaskUpdate, answers, pollWithin); e != nil {
		return gone(e)
	}
	for name := range w.call.Input.Responses {
		w.given[name] = true
	}
	return nil
}

// put asks about the task. When the call ends first, that is the failure.
func (w *wait) put(ctx context.Context, method string, answers []byte, within time.Duration) (json.RawMessage, *router.CallError) {
	raw, e := w.line.put(ctx, method, answers, within)
	if e != nil && w.f.ctx.Err() != nil {
		return nil, w.overtaken()
	}
	return raw, e
}

// overtaken is the failure of a wait whose call ended, with what kept the task from
// being asked for, if anything did.
func (w *wait) overtaken() *router.CallError {
	e := w.f.ended(true)
	if why := w.line.fault; why != nil {
		e.Message += "; the server could not be asked how the task is: " + why.Message
		e.HTTPStatus, e.Stderr = why.HTTPStatus, why.Stderr
	}
	return e
}

// rest lets the time pass that the server wants between two questions, less when
// it says that something changed; false: the call ended.
func (w *wait) rest() bool {
	w.polls++
	quick := time.NewTimer(quickestPoll)
	defer quick.Stop()
	full := time.NewTimer(pollAfter(w.task.Poll, w.f.is.span, w.polls, w.seed))
	defer full.Stop()
	var news chan struct{}
	for {
		select {
		case <-quick.C:
			news = w.news // whatever a server tells, it is not asked more often than this
		case <-news:
			return true
		case <-w.held.over():
			return true
		case <-full.C:
			return true
		case <-w.f.ctx.Done():
			return false
		}
	}
}

// status asks how the task is.
func (w *wait) status() (*wireTask, *router.CallError) {
	raw, e := w.put(w.f.ctx, methodTaskGet, nil, pollWithin)
	if e != nil {
		return nil, gone(e)
	}
	t, e := readStatus(raw, w.task.ID)
	if e != nil {
		return nil, e
	}
	if w.last != nil && !t.sameAs(w.last) { // the first look says nothing of when it changed
		w.f.stirred(w.p.secrets.text(excerpt(t.Message)))
	}
	w.last = t
	if d := t.poll(); d > 0 {
		w.task.Poll = d // it may change
	}
	return t, nil
}

// gone is a server's own error to a question about a task: the task cannot be
// asked for any more, or the server has become one without tasks.
func gone(e *router.CallError) *router.CallError {
	if e.RPCCode == 0 {
		return e
	}
	v := *e
	v.Code = router.ServerError
	v.Message = "the server does not know the task any more: " + e.Message
	return &v
}
