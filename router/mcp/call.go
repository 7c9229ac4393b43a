package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
	"junction/state/value"
)

// rereadAfter is how old a catalog must be before a call that does not fit it
// has it read again: a stream of bad calls must not become one of lists.
const rereadAfter = time.Second

// lost takes from e what it says about the connection, and reports whether the
// request is to be made again on a new one: the server refused it because it
// does not know the session.
func (p *peer) lost(c *conn, e *router.CallError) bool {
	switch {
	case e.Code == router.SessionExpired:
		p.drop(c)
		return true
	case e.Code == router.VersionUnsupported:
		p.drop(c) // the next use finds the era anew
	case e.Code == router.Transport && e.Execution == state.NotExecuted && c.http && e.HTTPStatus == 0:
		p.refusedBy(c, e)
	case e.Code == router.CapabilityMismatch && e.RPCCode != 0, e.Code == router.OutputInvalid:
		c.stale.Store(true) // its tools may have changed unannounced
	}
	return false
}

// Call makes one request. Every error is a *router.CallError; the clocks count
// from here, so waiting for a connection is part of them.
func (c *Client) Call(ctx context.Context, s *router.Server, call router.ToolCall) (r *router.ToolResult, err error) {
	doing := "tool " + quote(call.Tool)
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, during(recovered(p), s.ID, doing)
		}
	}()
	p, err := c.peer(s)
	if err != nil {
		return nil, err
	}
	f := takeOff(ctx, &call)
	defer f.land()
	asker := newAsker(f, &call)
	for again := false; ; again = true {
		r, e := p.call(f, &call, asker)
		if e == nil {
			return r, nil
		}
		if e.Code != router.SessionExpired || again || call.Session != "" {
			return nil, p.secrets.mask(during(e, s.ID, doing))
		}
	}
}

// call makes a call to its end: through a server's requests to come again, and
// through the task that it made of the call.
func (p *peer) call(f *flight, call *router.ToolCall, a *asker) (*router.ToolResult, *router.CallError) {
	if call.Attach != nil {
		return newWait(p, f, call, a, *call.Attach).end()
	}
	for n := 1; ; n++ {
		r, e := p.request(f, call, a)
		if e != nil && n > 1 { // what was sent before may have had a part done
			v := *e
			v.Execution, v.Message = state.Unknown, "the server wanted to be asked again; then "+e.Message
			e = &v
		}
		if e != nil || r.Input == nil || len(r.Input.Requests) > 0 {
			return r, e
		}
		if call, e = p.later(f, call, r.Input, n); e != nil {
			return nil, e
		}
	}
}

func (p *peer) request(f *flight, call *router.ToolCall, a *asker) (*router.ToolResult, *router.CallError) {
	conn, e := p.get(f.ctx)
	if e != nil {
		return nil, e
	}
	mine := true
	defer func() {
		if mine {
			conn.release()
		}
	}()
	if call.Session != "" && call.Session != conn.session("").ID {
		return nil, notSent(router.SessionExpired, "the session that this call belongs to has ended", nil)
	}
	r, task, e := conn.call(f, call, a)
	if e != nil {
		p.lost(conn, e)
		return nil, e
	}
	conn.proven.Store(true)
	if task == nil {
		return r, nil
	}
	mine = false // it is kept in use while the task is waited for
	return p.follow(f, call, a, conn, *task)
}

// call makes one request. It returns the result, or the task that the server made
// of it.
func (c *conn) call(f *flight, call *router.ToolCall, a *asker) (*router.ToolResult, *state.RemoteTask, *router.CallError) {
	args, err := value.Normalize(orEmpty(call.Arguments))
	if err != nil {
		return nil, nil, notSent(router.CapabilityMismatch, "the arguments have no exact JSON form: "+excerpt(err.Error()), err)
	}
	t, e := c.fitting(f.ctx, call.Tool, args)
	if e == nil && c.held != nil {
		e = c.held(call.Tool, t)
	}
	if e != nil {
		return nil, nil, e
	}
	more, e := c.more(call, t)
	if e != nil {
		return nil, nil, e
	}
	id := c.ids.Add(1)
	params, e := c.params(id, call, args, more)
	if e != nil {
		return nil, nil, e
	}
	if e := f.begin(id); e != nil {
		return nil, nil, e
	}
	header := c.callHeaders(f.until, t, call.Tool, params)
	defer c.open.attend(a)()
	ctx, ex := newExchange(withAsker(f.ctx, a), id, f)
	resp, e := c.post(ctx, id, string(protocol.MethodToolsCall), params, header)
	if e != nil {
		return nil, nil, e
	}
	tasks := call.OnTask != nil && (c.modern || more != nil) // it may have become one
	return c.answered(f, call, t, ex, resp.Result, tasks)
}

// answered reads what came: the result, a question, or a task.
func (c *conn) answered(f *flight, call *router.ToolCall, t *tool, ex *exchange, raw json.RawMessage, tasks bool) (r *router.ToolResult, task *state.RemoteTask, e *router.CallError) {
	v, err := value.Parse(raw)
	members, _ := v.(map[string]any)
	if err != nil { // a number that is not exact spoils a result, and no task
		json.Unmarshal(raw, &members) //nolint:errcheck // err tells of it, unless it is a task
	}
	switch c.kindOf(members, tasks) {
	case resultTask:
		task, e = readTask(raw, c.modern, time.Now())
	case resultInput:
		r = &router.ToolResult{}
		if r.Input, e = readInput(raw); e == nil {
			e = answerable(r.Input.Requests, call.MayAsk)
		}
	default:
		ctx := f.ctx
		if t.output != nil { // completed first: a cancel that comes now takes nothing away
			var done context.CancelFunc
			ctx, done = f.unhurried()
			defer done()
		}
		r, e = resultOf(ctx, v, err, t.output)
	}
	if e != nil {
		return nil, nil, e
	}
	if r != nil {
		r.Duration = ex.took()
	}
	return r, task, nil
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// fitting returns the tool when it exists and takes args. What does not fit the
// catalog at hand is held against a fresh one before it is refused.
func (c *conn) fitting(ctx context.Context, name string, args any) (*tool, *router.CallError) {
	k, e := c.catalog(ctx, never)
	if e != nil {
		// Whatever became of the list, the tool was not called.
		v := *e
		v.Execution = state.NotExecuted
		return nil, &v
	}
	t, fault := k.fit(ctx, name, args)
	if fault == nil {
		return t, nil
	}
	fresh, e := c.catalog(ctx, func(k *catalog) bool { return time.Since(k.read) > rereadAfter })
	if e != nil || fresh.digest == k.digest {
		return nil, fault
	}
	return fresh.fit(ctx, name, args)
}

func (k *catalog) fit(ctx context.Context, name string, args any) (*tool, *router.CallError) {
	t := k.tools[name]
	if t == nil {
		return nil, notSent(router.CapabilityMismatch, fmt.Sprintf("the server has no such tool; it has %s", k.names()), nil)
	}
	if err := t.input.check(ctx, args); err != nil {
		return nil, misfit(ctx, router.CapabilityMismatch, "the arguments do not fit the tool's input schema: ", err, false)
	}
	return t, nil
}

func (k *catalog) names() string {
	if len(k.description.Tools) == 0 {
		return "none"
	}
	var names []string
	for _, t := range k.description.Tools {
		names = append(names, t.Name)
	}
	return excerpt(strings.Join(names, ", "))
}
