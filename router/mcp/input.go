package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
	"junction/state/value"
)

// Results that are no result yet.
const (
	resultComplete = "complete"
	resultInput    = "input_required"
	resultTask     = "task"
)

// kindOf is what kind of result an answer to tools/call is, by its members; tasks: it
// may be a task. What was not offered, and what cannot be read, is judged as a result.
func (c *conn) kindOf(members map[string]any, tasks bool) string {
	if !c.modern {
		if _, task := members["task"]; tasks && task {
			return resultTask
		}
		return resultComplete
	}
	kind, typed := members["resultType"].(string)
	if !typed || kind == resultTask && !tasks {
		return resultComplete
	}
	return kind
}

// longestInput bounds what a server may ask for at once, which is recorded; bytes.
const longestInput = 1 << 20

// readInput reads what a server asks for in the middle of a call (multi round
// trips). Requests and state stay as they are, byte for byte.
func readInput(raw json.RawMessage) (*state.Input, *router.CallError) {
	var in struct {
		Requests map[string]json.RawMessage `json:"inputRequests"`
		State    *string                    `json:"requestState"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, unknown(router.OutputInvalid, "what the server asks for cannot be read: "+excerpt(err.Error()), nil)
	}
	if e := recordable(in.Requests, in.State); e != nil {
		return nil, e
	}
	if len(in.Requests) == 0 && in.State == nil {
		return nil, unknown(router.OutputInvalid, "the server asks for input and does not say for what", nil)
	}
	return &state.Input{Requests: in.Requests, State: in.State}, nil
}

// recordable refuses questions that are too large to be kept.
func recordable(requests map[string]json.RawMessage, state *string) *router.CallError {
	size := 0
	if state != nil {
		size = len(*state)
	}
	for name, r := range requests {
		size += len(name) + len(r)
	}
	if size > longestInput {
		return unknown(router.OutputInvalid, "the server asks for more in the middle of the call than can be kept", errTooLarge)
	}
	return nil
}

// answerable refuses what was not offered: every question when nobody can be
// asked, else all but a person's. Sampling and roots are advertised to nobody.
func answerable(requests map[string]json.RawMessage, may bool) *router.CallError {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		var r struct {
			Method string `json:"method"`
		}
		switch err := json.Unmarshal(requests[name], &r); {
		case err != nil || r.Method == "":
			return unknown(router.OutputInvalid, "the server asks for "+quote(name)+" with what is no request", nil)
		case r.Method != string(protocol.MethodElicitationCreate):
			return unknown(router.OutputInvalid, "the server asks for "+quote(r.Method)+" in the middle of the call, which it was not offered", nil)
		case !may:
			return unknown(router.OutputInvalid, "the server asks for input in the middle of the call, which it was not offered", nil)
		}
	}
	return nil
}

// inputResponses are the answers as a JSON object, in the order of their names;
// nil for none.
func inputResponses(in *router.InputAnswers) ([]byte, *router.CallError) {
	if in == nil || len(in.Responses) == 0 {
		return nil, nil
	}
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(in.Responses)) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = value.Append(b, name); err == nil && !json.Valid(in.Responses[name]) {
			err = fmt.Errorf("the answer to it is no JSON")
		}
		if err != nil {
			return nil, notSent(router.CapabilityMismatch, "the answers to "+quote(name)+" cannot be sent: "+excerpt(err.Error()), err)
		}
		b = append(append(b, ':'), in.Responses[name]...)
	}
	return append(b, '}'), nil
}

// more are the members of tools/call that a call has beside its arguments: those
// that go on with an earlier round, and the one that asks for a task.
func (c *conn) more(call *router.ToolCall, t *tool) ([]byte, *router.CallError) {
	if call.Input != nil {
		if !c.modern {
			return nil, notSent(router.VersionUnsupported, "the server asked in the middle of the call, and now speaks a protocol in which no call goes on", nil)
		}
		return continuation(call.Input)
	}
	switch {
	case t.tasks == taskRequired && call.OnTask == nil:
		return nil, notSent(router.CapabilityMismatch, "the tool can be called as a task only, and nobody keeps one for this call", nil)
	case t.tasks == taskRequired, t.tasks == taskOptional && call.OnTask != nil && maximumOf(call) > worthTask:
		return asTask(maximumOf(call)), nil
	}
	return nil, nil
}

func maximumOf(call *router.ToolCall) time.Duration {
	_, maximum := limits(call)
	return maximum
}

// later waits as long as a server that has no time asks for (input_required with a
// state alone), with back-off, and returns the call with that state. Answers given
// before stay: whoever answers the next request knows nothing but what it holds.
func (p *peer) later(f *flight, call *router.ToolCall, in *state.Input, n int) (*router.ToolCall, *router.CallError) {
	wait := time.NewTimer(p.client.opts.Backoff.delay(p.server.Load().ID, n))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-f.ctx.Done():
		return nil, f.ended(true)
	}
	next := *call
	next.Input = &router.InputAnswers{State: in.State}
	if call.Input != nil {
		next.Input.Responses = call.Input.Responses
	}
	return &next, nil
}

// continuation is the members of tools/call that go on with an earlier round:
// the answers, and the server's state exactly as it was, or its absence.
func continuation(in *router.InputAnswers) ([]byte, *router.CallError) {
	if in == nil {
		return nil, nil
	}
	answers, e := inputResponses(in)
	if e != nil {
		return nil, e
	}
	var b []byte
	if answers != nil {
		b = append(append(b, `,"inputResponses":`...), answers...)
	}
	if in.State != nil {
		var err error
		if b, err = value.Append(append(b, `,"requestState":`...), *in.State); err != nil {
			return nil, notSent(router.CapabilityMismatch, "the server's state has no JSON form: "+excerpt(err.Error()), err)
		}
	}
	return b, nil
}

// clientCapabilities are what a call of the later era says that we can do.
func clientCapabilities(tasks, ask bool) string {
	switch {
	case tasks && ask:
		return `{"extensions":{"` + tasksExtension + `":{}},"elicitation":{"form":{},"url":{}}}`
	case tasks:
		return `{"extensions":{"` + tasksExtension + `":{}}}`
	case ask:
		return `{"elicitation":{"form":{},"url":{}}}`
	}
	return `{}`
}
