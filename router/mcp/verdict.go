package mcp

import (
	"encoding/json"
	"maps"

	"junction/router"
	"junction/state"
)

// judge says what a status means; neither a result nor a failure: it goes on.
func (w *wait) judge(t *wireTask) (*router.ToolResult, *router.CallError) {
	switch t.Status {
	case taskWorking:
		return nil, nil
	case taskInput:
		if w.line.modern {
			return w.questions(t)
		}
		w.hold()
		return nil, nil
	case taskCompleted:
		if w.line.modern {
			return w.decode(t.Result)
		}
		return w.result()
	case taskFailed:
		switch {
		case !w.line.modern:
			return w.result()
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
	if e := recordable(open, nil); e != nil {
		return nil, e
	}
	if e := answerable(open, w.call.MayAsk); e != nil {
		return nil, e
	}
	return &router.ToolResult{Input: &state.Input{Requests: open}}, nil
}

// result asks for the result in the earlier era.
func (w *wait) result() (*router.ToolResult, *router.CallError) {
	if w.held != nil { // asked for already, and to be let go by the server
		w.await(w.held.over())
		if r, e := w.released(); e != nil || r != nil {
			return r, e
		}
		w.letGo()
	}
	raw, e := w.put(w.f.ctx, methodTaskResult, nil, pollWithin)
	return w.opened(raw, e)
}

// opened is the answer to tasks/result, an error of which is the call's own.
func (w *wait) opened(raw json.RawMessage, e *router.CallError) (*router.ToolResult, *router.CallError) {
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
