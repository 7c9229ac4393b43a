package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// capabilityFor is what a client must have declared before a server asks it for the
// method; nothing for methods that nobody knows, which pass.
func capabilityFor(method string, params json.RawMessage) (capability, flag string) {
	switch protocol.MCPMethod(method) {
	case protocol.MethodSamplingCreateMessage:
		return "sampling", ""
	case protocol.MethodListRoots:
		return "roots", ""
	case protocol.MethodElicitationCreate:
		if textIn(params, "mode") == "url" {
			return "elicitation", "url"
		}
		return "elicitation", ""
	case protocol.MethodTasksGet, protocol.MethodTasksList, protocol.MethodTasksResult, protocol.MethodTasksCancel:
		return "tasks", ""
	}
	return "", ""
}

// able reports whether who has the capabilities can be asked.
func able(capabilities json.RawMessage, method string, params json.RawMessage) error {
	capability, flag := capabilityFor(method, params)
	if capability == "" {
		return nil
	}
	c := member(capabilities, capability)
	switch {
	case !isObject(c):
		return fmt.Errorf("the client has not declared %s", capability)
	case flag != "" && member(c, flag) == nil:
		return fmt.Errorf("the client has not declared %s.%s", capability, flag)
	}
	return nil
}

// questioned runs in the session's reader, for a request of the server that is on no
// request's own stream.
func (h *behind) questioned(ctx context.Context, method string, params json.RawMessage, answer func(mcp.Reply)) {
	q := &question{ctx: ctx, method: method, params: params, answer: answer}
	if on := h.session(); on != nil && on.Modern() {
		q.refuse(errors.New("servers of this protocol version ask in their results"))
		return
	}
	if h.bridge.down.later() {
		p, err := h.owner(q)
		if err == nil {
			err = p.put(q)
		}
		if err != nil {
			q.refuse(err)
		}
		return
	}
	if err := able(h.bridge.down.who().Capabilities, method, params); err != nil {
		q.refuse(err)
		return
	}
	if !h.run(func() { h.pass(q) }) {
		q.refuse(errors.New("the client is gone"))
	}
}

// pass puts a server's request to a client of the earlier era, and the answer back,
// both as they were written.
func (h *behind) pass(q *question) {
	select {
	case <-h.bridge.down.ready:
	case <-q.ctx.Done():
		return
	case <-h.life.Done():
		q.refuse(errors.New("the client is gone"))
		return
	}
	params, forget := h.reportable(h.attributed(q.method, q.params))
	defer forget()
	reply, err := h.bridge.front.Ask(q.ctx, q.method, params)
	if err != nil {
		q.refuse(err)
		return
	}
	q.answer(reply)
}

// attributed are a question's parameters as its client gets them: of several servers a
// person is told which one wants to know. The client itself knows but the bridge.
func (h *behind) attributed(method string, params json.RawMessage) json.RawMessage {
	if _, many := h.up.(*several); !many || method != string(protocol.MethodElicitationCreate) {
		return params
	}
	return setMember(params, "message", quote("Server "+clean(h.server.Name)+" asks: "+textIn(params, "message")))
}

// question is a request of a server of the earlier era that waits for an answer.
type question struct {
	ctx    context.Context // ends when the server does not wait any more
	method string
	params json.RawMessage
	answer func(mcp.Reply)
	id     string // in the result that puts it to a client of the later era
}

func (q *question) refuse(why error) {
	q.answer(mcp.Reply{Error: &mcp.RPCError{Code: protocol.METHOD_NOT_FOUND, Message: clean(q.method) + " is not possible here: " + why.Error()}})
}

// reporting is a request of the server whose progress the client may report.
type reporting struct{ token json.RawMessage }

// reportable gives a request of the server a progress token of the bridge's own, in
// place of the server's; forget ends that.
func (h *behind) reportable(params json.RawMessage) (out json.RawMessage, forget func()) {
	meta := member(params, "_meta")
	theirs := member(meta, "progressToken")
	if theirs == nil {
		return params, func() {}
	}
	token := rand.Text()
	h.mu.Lock()
	h.asks[token] = reporting{token: theirs}
	h.mu.Unlock()
	return setMember(params, "_meta", setMember(meta, "progressToken", quote(token))), func() {
		h.mu.Lock()
		delete(h.asks, token)
		h.mu.Unlock()
	}
}

// reported passes on what a client reports of a server's request.
func (h *behind) reported(params json.RawMessage) {
	h.mu.Lock()
	r, ok := h.asks[textIn(params, "progressToken")]
	h.mu.Unlock()
	if ok {
		h.line.Notify(h.life, mcp.Notification{
			Method: string(protocol.MethodNotificationProgress), Params: setMember(params, "progressToken", r.token),
		})
	}
}
