package mcp

import (
	"context"
	"encoding/json"
	"time"

	"junction/router"
)

// held is a request for a task's result that the server holds back. In the earlier
// era a task that is in need of input asks for it over that request's stream, so it
// is made as soon as the task says so, and the task is asked for beside it.
type held struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when there is an answer, or none will come
	raw    json.RawMessage
	e      *router.CallError // readable once done is closed, like raw
}

// over is closed when the request has ended; nil for none.
func (h *held) over() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.done
}

// hold makes the request, unless it is under way.
func (w *wait) hold() {
	if w.held != nil {
		return
	}
	ctx, cancel := context.WithCancel(withAsker(w.f.ctx, w.asker))
	h := &held{cancel: cancel, done: make(chan struct{})}
	w.held = h
	l := line{p: w.p, task: w.task.ID, ask: w.call.MayAsk}
	go func() {
		defer close(h.done)
		defer l.hangUp()
		h.raw, h.e = l.put(ctx, methodTaskResult, nil, 0)
	}()
}

// released is what came of the request; neither a result nor a failure: nothing
// yet, or nothing that says how the task ended.
func (w *wait) released() (*router.ToolResult, *router.CallError) {
	select {
	case <-w.held.over():
	default:
		return nil, nil
	}
	h := w.held
	w.letGo()
	if h.e != nil && h.e.RPCCode == 0 {
		return nil, nil // the next look at the task says whether it is to be made again
	}
	return w.opened(h.raw, h.e)
}

// letGo ends the request.
func (w *wait) letGo() {
	if w.held != nil {
		w.held.cancel()
		<-w.held.done
		w.held = nil
	}
}

// await waits for over, no longer than for an answer to any question.
func (w *wait) await(over <-chan struct{}) {
	limit := time.NewTimer(pollWithin)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
	case <-w.f.ctx.Done():
	}
}
