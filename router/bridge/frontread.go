package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"unicode/utf8"

	"junction/router/mcp"
)

// Codes of JSON-RPC 2.0, section 5.1, and one of the range that it leaves to servers.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeParams   = -32602
	codeInternal = -32603
	codeBusy     = -32000
)

// frontCall is a request of the client's, until its answer is written. Its fields are
// the front's.
type frontCall struct {
	key       string // its id
	greeting  bool   // initialize, which cannot be cancelled
	size      int
	cancel    context.CancelFunc
	cancelled bool
}

// byteOrder is what some shells put before the first line.
var byteOrder = []byte("\ufeff")

// read takes in what the client sends, until there is no more or ctx has ended.
func (f *Front) read(ctx context.Context) error {
	for {
		if !f.roomy(ctx) {
			return nil
		}
		line, spoiled, err := f.in.Next()
		if ended(ctx.Done()) {
			return nil
		}
		if spoiled != nil {
			f.skipped(spoiled)
		} else if line = bytes.Trim(bytes.TrimPrefix(line, byteOrder), " \t\r"); len(line) > 0 {
			f.take(ctx, line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading from the client: %w", err)
		}
	}
}

// roomy waits until the client has read enough of its answers; false: ctx ended first.
func (f *Front) roomy(ctx context.Context) bool {
	for {
		f.mu.Lock()
		room := f.box.finalBytes <= f.most
		f.mu.Unlock()
		if room {
			return ctx.Err() == nil
		}
		select {
		case <-f.room:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// skipped answers for a line that was not kept.
func (f *Front) skipped(s *mcp.SpoiledLine) {
	id := s.ID
	if !identifies(id) || !json.Valid(id) {
		id = nil
	}
	f.mu.Lock()
	if a := f.asked[string(id)]; a != nil {
		f.forget(a)
		a.answer <- askAnswer{err: fmt.Errorf("the client's answer: %w", s.Why)}
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	f.refuse(id, codeInvalid, fmt.Sprintf("the message is skipped: longer than %d bytes, or of too many values", f.longest))
}

// take takes in one line.
func (f *Front) take(ctx context.Context, line []byte) {
	switch {
	case !json.Valid(line):
		f.refuse(nil, codeParse, "this is no JSON, or nested deeper than 10,000")
		return
	case line[0] == '[':
		f.refuse(nil, codeInvalid, "batches are not part of the protocol: send one message a line")
		return
	case line[0] != '{':
		f.refuse(nil, codeInvalid, "this is no message: a message is an object")
		return
	}
	e := takeApart(line)
	sound := utf8.Valid(line)
	switch {
	case e.method == nil && (e.result != nil || e.fault != nil):
		f.answered(&e, sound) // which is never answered, lest two answer each other for ever
	case e.twice:
		f.refuse(nil, codeInvalid, "a member of the message is there twice")
	case e.method == nil:
		f.refuse(e.id, codeInvalid, "this is neither a request, nor a notification, nor an answer")
	case e.id == nil:
		f.notified(&e, sound)
	default:
		f.requested(ctx, &e, sound, len(line))
	}
}

// flaw says what is wrong with a request or a notification; 0: nothing.
func (e *envelope) flaw(sound bool) (method string, code int, why string) {
	method, isText := text(e.method)
	switch {
	case !sound: // mended it could do what nobody asked for
		return "", codeInvalid, "the message is not valid UTF-8"
	case string(e.version) != `"2.0"`:
		return "", codeInvalid, `the member jsonrpc must be "2.0"`
	case !isText || method == "":
		return "", codeInvalid, "the member method must be a name"
	case e.result != nil || e.fault != nil:
		return "", codeInvalid, "this is a request and an answer at once"
	case string(e.params) == "null":
		e.params = nil
	case e.params != nil && e.params[0] != '{':
		return "", codeParams, "the member params must be an object"
	}
	return method, 0, ""
}

func (f *Front) notified(e *envelope, sound bool) {
	method, code, why := e.flaw(sound)
	if code != 0 {
		f.logger.Warn("a notification of the client is dropped", "why", why)
		return
	}
	if method == "notifications/cancelled" {
		f.cancelled(member(e.params, "requestId"))
		return
	}
	defer f.recovered(method)
	f.handler.Notified(mcp.Notification{Method: method, Params: e.params})
}

// cancelled ends a request that the client does not need any more.
func (f *Front) cancelled(id json.RawMessage) {
	f.mu.Lock()
	c := f.open[string(id)]
	if c == nil || c.greeting || c.cancelled {
		f.mu.Unlock()
		return
	}
	c.cancelled = true
	f.mu.Unlock()
	c.cancel()
}

func (f *Front) requested(ctx context.Context, e *envelope, sound bool, size int) {
	method, code, why := e.flaw(sound)
	switch {
	case !identifies(e.id):
		f.refuse(nil, codeInvalid, "the id must be text or a number, of at most 4096 bytes")
		return
	case code != 0:
		f.refuse(e.id, code, why)
		return
	}
	c := &frontCall{key: string(e.id), greeting: method == "initialize", size: size}
	ctx, c.cancel = context.WithCancel(withRequestID(ctx, e.id))
	if code, why := f.admit(c); code != 0 {
		c.cancel()
		f.refuse(e.id, code, why)
		return
	}
	wait := f.begin(ctx, method, e.params)
	go f.serve(c, method, wait)
}

// admit takes a request in, or says why not.
func (f *Front) admit(c *frontCall) (code int, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.state != frontServing:
		return codeBusy, "the program is ending"
	case f.open[c.key] != nil:
		return codeInvalid, "a request with this id is open, and its answer still to come"
	case len(f.open) >= f.requests:
		return codeBusy, fmt.Sprintf("%d requests are open, which is as many as may be", f.requests)
	case f.held+c.size > f.most:
		return codeBusy, fmt.Sprintf("the requests that are open hold %d bytes, and may hold %d", f.held, f.most)
	}
	f.open[c.key] = c
	f.held += c.size
	f.serving++
	return 0, ""
}

// begin has the handler take a request in; nil: it panicked.
func (f *Front) begin(ctx context.Context, method string, params json.RawMessage) (wait func() mcp.Reply) {
	defer f.recovered(method)
	return f.handler.Begin(ctx, method, params)
}

// serve waits for the answer of one request. It has one whatever the handler does.
func (f *Front) serve(c *frontCall, method string, wait func() mcp.Reply) {
	reply := mcp.Reply{Error: &mcp.RPCError{Code: codeInternal, Message: "an internal error; the log has more"}}
	defer func() { f.finish(c, method, reply) }()
	defer f.recovered(method)
	if wait != nil {
		reply = wait()
	}
}

func (f *Front) recovered(method string) {
	if p := recover(); p != nil {
		f.logger.Error("a handler panicked", "method", shown(method), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// finish puts the answer of a request into the outbox.
func (f *Front) finish(c *frontCall, method string, reply mcp.Reply) {
	e := envelope{id: json.RawMessage(c.key)}
	if reply.Error != nil {
		e.fault = fault(reply.Error)
	} else if result, ok := oneLine(reply.Result); ok {
		e.result = result
	} else {
		if !f.unwanted(c) {
			f.logger.Error("an answer has no JSON form", "method", shown(method))
		}
		e.fault = fault(&mcp.RPCError{Code: codeInternal, Message: "the answer has no JSON form"})
	}
	c.cancel()
	if f.settled(c, e) {
		f.post()
	}
}

// settled ends a request; false: its answer is not to be written.
func (f *Front) settled(c *frontCall, e envelope) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.hush()
	f.serving--
	f.held -= c.size
	if c.cancelled || f.state == frontClosed {
		delete(f.open, c.key)
		return false
	}
	f.box.final(outgoing{envelope: e, answers: c})
	return true
}

// unwanted reports whether the client has given a request up: there may be no answer to
// it then.
func (f *Front) unwanted(c *frontCall) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.cancelled
}

// answered takes in the client's answer to a request of ours.
func (f *Front) answered(e *envelope, sound bool) {
	var got askAnswer
	switch {
	case !sound, e.twice, e.result != nil && e.fault != nil, string(e.version) != `"2.0"`:
		got.err = errors.New("the client's answer is no message of JSON-RPC")
	case e.fault != nil:
		if json.Unmarshal(e.fault, &got.reply.Error) != nil || got.reply.Error == nil {
			got = askAnswer{err: errors.New("the client's answer is an error that is no error of JSON-RPC")}
		}
	default:
		got.reply.Result = e.result
	}
	if !f.settle(e.id, got) {
		f.logger.Debug("an answer of the client is dropped: nobody asked, or waits any more")
	}
}

// refuse answers what cannot be served. Where a request with its id is open the
// refusal has it in its data: by its id it would be taken for that one's answer.
func (f *Front) refuse(id json.RawMessage, code int, why string) {
	e := &mcp.RPCError{Code: code, Message: why}
	if !identifies(id) {
		id = null
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == frontClosed {
		return
	}
	if f.open[string(id)] != nil {
		e.Data = append(append(json.RawMessage(`{"id":`), id...), '}')
		id = null
	}
	f.box.final(outgoing{envelope: envelope{id: id, fault: fault(e)}})
	signal(f.wake)
}
