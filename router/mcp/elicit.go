package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
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

// openCalls are the calls of one connection that a server can reach besides
// their answers: with questions, and with word of their tasks.
type openCalls struct {
	elicitation bool // the server was told that a person can be asked

	mu     sync.Mutex
	askers map[*asker]struct{}
	tasks  map[string]chan<- struct{} // by the task's id: has room for one token
}

// attend lets questions find the call that come over the connection, and not on
// the call's own stream, until the returned function is called.
func (o *openCalls) attend(a *asker) (leave func()) {
	if a.ask == nil || !o.elicitation {
		return func() {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.askers == nil {
		o.askers = map[*asker]struct{}{}
	}
	o.askers[a] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.askers, a)
	}
}

// hear has news told that the server sends of a task, until the returned function
// is called.
func (o *openCalls) hear(task string, news chan<- struct{}) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tasks == nil {
		o.tasks = map[string]chan<- struct{}{}
	}
	o.tasks[task] = news
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.tasks, task)
	}
}

// stir tells whoever waits for the task that something changed.
func (o *openCalls) stir(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.tasks[task] <- struct{}{}:
	default:
	}
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
		c.question(a, req.ID, q)
		return nil
	}
	c.log.Info("a question of the server was declined", "why", why)
	return transport.NewJSONRPCResultResponse(req.ID, encodeAnswer(router.QuestionAnswer{Action: actionDecline}, q, why))
}

// readQuestion reads an elicitation, and the task that it is part of.
func readQuestion(raw json.RawMessage) (q router.Question, task string, err error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
		Meta    struct {
			Related struct {
				Task string `json:"taskId"`
			} `json:"io.modelcontextprotocol/related-task"`
		} `json:"_meta"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return q, "", errors.New("the question cannot be read")
	}
	q.Message, task = p.Message, p.Meta.Related.Task
	switch p.Mode {
	case "", "form":
		if len(p.Schema) > 0 && string(p.Schema) != "null" {
			q.Schema = p.Schema
		}
	case "url":
		u, err := url.Parse(p.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return q, "", errors.New("the question's url is none that a person could open")
		}
		q.URL = p.URL
	default:
		return q, "", errors.New("the question's mode is neither form nor url")
	}
	return q, task, nil
}

// askerOf finds the call that a question belongs to: the one on whose stream it
// came, the one whose task it names, or the only open one that can ask somebody.
func (o *openCalls) askerOf(ctx context.Context, task string) (a *asker, why string) {
	const nobody = "nobody can be asked during this call"
	if a, ok := ctx.Value(askerKey{}).(*asker); ok {
		if a.ask == nil {
			return nil, nobody
		}
		return a, ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if task != "" {
		for a := range o.askers {
			if id := a.task.Load(); id != nil && *id == task {
				return a, ""
			}
		}
		return nil, "no open call waits for the task that the question is part of"
	}
	switch len(o.askers) {
	case 0:
		return nil, nobody
	case 1:
		for a := range o.askers {
			return a, ""
		}
	}
	return nil, "several calls are open, and the question does not say which one it is part of"
}

// question asks a person off the reader's path, and answers the server: with
// cancel when the call ends first. The idle clock of the call stands still.
func (c *conn) question(a *asker, id protocol.RequestId, q router.Question) {
	resume := a.pause()
	answers := make(chan router.QuestionAnswer, 1)
	go func() { answers <- c.put(a, q) }() // one that outlives its context is not waited for
	c.partings.Go(func() {
		defer a.open.Add(-1)
		defer resume()
		got := router.QuestionAnswer{Action: actionCancel}
		select {
		case got = <-answers:
		case <-a.ctx.Done():
		case <-c.link.gone():
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		err := c.reply(ctx, transport.NewJSONRPCResultResponse(id, encodeAnswer(got, q, "")))
		if err != nil {
			c.log.Debug("the server was not told the answer to its question", "error", c.secrets.text(excerpt(err.Error())))
		}
	})
}

// put asks the person. What goes wrong there cancels the question, and no more:
// the call is the server's to end.
func (c *conn) put(a *asker, q router.Question) (got router.QuestionAnswer) {
	cancelled := router.QuestionAnswer{Action: actionCancel}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("asking a person failed", "error", recovered(p).Message)
			got = cancelled
		}
	}()
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-a.ctx.Done():
		return cancelled
	}
	got, err := a.ask(a.ctx, q)
	content := bytes.TrimSpace(got.Content)
	switch {
	case err != nil:
		c.log.Debug("a question was not answered", "error", c.secrets.text(excerpt(err.Error())))
		return cancelled
	case got.Action != actionAccept && got.Action != actionDecline,
		len(content) > 0 && (content[0] != '{' || !json.Valid(content)):
		return cancelled
	}
	return got
}

// encodeAnswer is the result of elicitation/create.
func encodeAnswer(a router.QuestionAnswer, q router.Question, why string) json.RawMessage {
	type answer struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
		Meta    map[string]any  `json:"_meta,omitempty"`
	}
	out := answer{Action: a.Action}
	if a.Action == actionAccept && q.URL == "" {
		out.Content = a.Content
		if len(out.Content) == 0 {
			out.Content = json.RawMessage(`{}`)
		}
	}
	if why != "" {
		out.Meta = map[string]any{reasonKey: why}
	}
	b, err := json.Marshal(out)
	if err != nil { // content is checked, the rest is plain text
		return json.RawMessage(`{"action":"cancel"}`)
	}
	return b
}
