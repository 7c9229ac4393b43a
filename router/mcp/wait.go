package mcp

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
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
//     back-off, until a clock of the call ends.
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
}

func newWait(p *peer, f *flight, call *router.ToolCall, a *asker, task state.RemoteTask) *wait {
	h := fnv.New64a()
	h.Write([]byte(task.ID))
	w := &wait{
		p: p, f: f, call: call, asker: a, task: task, given: map[string]bool{},
		seed: p.client.opts.Backoff.Seed ^ h.Sum64(), news: make(chan struct{}, 1),
	}
	a.task.Store(&task.ID)
	w.line = line{p: p, task: task.ID, ask: call.MayAsk, join: w.join}
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
		return nil, w.f.ended(true)
	}
	return raw, e
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

// judge says what a status means; neither a result nor a failure: it goes on.
func (w *wait) judge(t *wireTask) (*router.ToolResult, *router.CallError) {
	switch t.Status {
	case taskWorking:
		return nil, nil
	case taskInput:
		if w.line.modern {
			return w.questions(t)
		}
		// The server asks over the stream of the result, which it holds back.
		return w.result(0)
	case taskCompleted:
		if w.line.modern {
			return w.decode(t.Result)
		}
		return w.result(pollWithin)
	case taskFailed:
		switch {
		case !w.line.modern:
			return w.result(pollWithin)
		case t.Error != nil:
			return nil, failedTask(refused(t.Error))
		}
		return nil, unknown(router.ServerError, "the task failed"+because(t), nil)
	case taskCancelled:
		// Not MCP_CANCELLED, which is what we do: the server gave its task up, and may
		// have done a part of it.
		return nil, unknown(router.ServerError, "the task was cancelled at the server"+because(t), nil)
	}
	return nil, unknown(router.OutputInvalid, "the task's status is the unknown "+quote(t.Status), nil)
}

func because(t *wireTask) string {
	if text := excerpt(t.Message); text != "" {
		return ": " + text
	}
	return ""
}

func failedTask(e *router.CallError) *router.CallError {
	v := *e
	v.Message = "the task failed: " + e.Message
	return &v
}

// questions are what the task asks, but for what was answered.
func (w *wait) questions(t *wireTask) (*router.ToolResult, *router.CallError) {
	if len(t.Requests) == 0 {
		return nil, unknown(router.OutputInvalid, "the task asks for input and does not say for what", nil)
	}
	open := maps.Clone(t.Requests)
	maps.DeleteFunc(open, func(name string, _ json.RawMessage) bool { return w.given[name] })
	if len(open) == 0 {
		return nil, nil // the answers are on their way to it
	}
	if e := answerable(open, w.call.MayAsk); e != nil {
		return nil, e
	}
	return &router.ToolResult{Input: &state.Input{Requests: open}}, nil
}

// result asks for the result in the earlier era.
func (w *wait) result(within time.Duration) (*router.ToolResult, *router.CallError) {
	raw, e := w.put(withAsker(w.f.ctx, w.asker), methodTaskResult, nil, within)
	switch {
	case e == nil:
		return w.decode(raw)
	case e.RPCCode != 0:
		return nil, failedTask(e)
	}
	return nil, e
}

// decode reads the final result; what the caller does from here on takes nothing
// away. A tool that the server has no more has no schema.
func (w *wait) decode(raw json.RawMessage) (*router.ToolResult, *router.CallError) {
	if len(raw) == 0 {
		return nil, unknown(router.OutputInvalid, "the task is complete and has no result", nil)
	}
	var output *schema
	e := w.line.again(w.f.ctx, "", func(c *conn) *router.CallError {
		k, e := c.catalog(w.f.ctx, never)
		if e == nil && k.tools[w.call.Tool] != nil {
			output = k.tools[w.call.Tool].output
		}
		return e
	})
	w.line.hangUp() // which completes the call, unless it ended before
	if w.f.ctx.Err() != nil {
		return nil, w.f.ended(true)
	}
	if e != nil {
		return nil, e
	}
	ctx, done := w.f.unhurried()
	defer done()
	return readResult(ctx, raw, output)
}
