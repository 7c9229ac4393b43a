package mcp

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// openQuestions bounds the questions of one call that wait for a person at once.
const openQuestions = 8

// What a person does with a question.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// reasonKey is the member of a declining answer's _meta that says why no person
// was asked.
const reasonKey = "dev.junction/reason"

// asker takes to a person what a server of the earlier era asks while a call is
// open.
type asker struct {
	ask   func(context.Context, router.Question) (router.QuestionAnswer, error) // nil: nobody can be asked
	ctx   context.Context                                                       // ends with the call
	pause func() (resume func())                                                // of the call's idle clock
	task  atomic.Pointer[string]                                                // that the server made of the call
	open  atomic.Int32
	turn  chan struct{} // holds a token while no person is asked: one question after another
}

func newAsker(f *flight, call *router.ToolCall) *asker {
	a := &asker{ask: call.Ask, ctx: f.ctx, pause: f.asks, turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a
}

type askerKey struct{}

// withAsker marks what is sent with ctx as part of a's call: what a server asks
// on the stream of its answer belongs to that call.
func withAsker(ctx context.Context, a *asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// elicitationOf is what the handshake of the earlier era says that we can do.
func elicitationOf(o *Options) (c protocol.ClientCapabilities) {
	if o.Elicitation {
		c.Elicitation = &protocol.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
	}
	return c
}

// asked answers a request of the server. It runs in a link's reader and never
// waits: the answer to a question is sent later, by [conn.question].
func (c *conn) asked(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	switch req.Method {
	case string(protocol.MethodPing):
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage(`{}`)), nil
	case string(protocol.MethodElicitationCreate):
		if c.open.elicitation {
			return c.elicited(ctx, req), nil
		}
	}
	return transport.NewJSONRPCErrorResponse(req.ID, protocol.METHOD_NOT_FOUND,
		"this client does not serve "+quote(req.Method)+", and did not say that it does", nil), nil
}

func (c *conn) elicited(ctx context.Context, req transport.JSONRPCRequest) *transport.JSONRPCResponse {
	raw, ok := req.Params.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(req.Params); err != nil {
			return transport.NewJSONRPCErrorResponse(req.ID, protocol.INVALID_PARAMS, "the question cannot be read", nil)
		}
	}
	q, task, err := readQuestion(raw)
	if err != nil {
		return transport.NewJSONRPCErrorResponse(req.ID, protocol.INVALID_PARAMS, err.Error(), nil)
	}
	q.Message = c.secrets.text(q.Message)
	a, why := c.open.askerOf(ctx, task)
	switch {
	case why != "":
	case a.open.Add(1) > openQuestions:
		a.open.Add(-1)
		why = "too many questions of this call wait for an answer"
	default:
		c.question(a, req.ID, q, task)
		return nil
	}
	c.log.Debug("a question of the server was declined", "why", why)
	return transport.NewJSONRPCResultResponse(req.ID, encodeAnswer(router.QuestionAnswer{Action: actionDecline}, q, task, why))
}
