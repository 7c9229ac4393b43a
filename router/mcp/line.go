package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// pollWithin bounds one try of a question about a task: one without an answer
// until then may be lost, and is put again.
const pollWithin = 30 * time.Second

// line is how a task is asked for: over a connection that is kept in use from one
// question to the next, so that nothing ends it meanwhile, and replaced when it is
// lost.
type line struct {
	p      *peer
	task   string
	ask    bool                       // somebody can answer what the task asks
	join   func(*conn) (leave func()) // what a connection is told while it is used
	conn   *conn                      // in use; nil: none
	leave  func()
	modern bool              // of the last connection
	fault  *router.CallError // why it could not be asked, until it could
	silent func() func()     // called when the server cannot be asked; what it returns, when it can again
	heard  func()            // that; nil: it can
}

// garbled is how often in a row an answer may be none that can be read.
const garbled = 3

// put asks a question about the task, until it is answered or ctx ends. A server's
// own error is the answer as well. within bounds one try; 0: ctx does.
func (l *line) put(ctx context.Context, method string, answers []byte, within time.Duration) (raw json.RawMessage, e *router.CallError) {
	params, e := taskParams(l.task, answers)
	if e != nil {
		return nil, e
	}
	e = l.again(ctx, method, func(c *conn) *router.CallError {
		try := ctx
		if within > 0 {
			var cancel context.CancelFunc
			try, cancel = context.WithTimeout(ctx, within)
			defer cancel()
		}
		var e *router.CallError
		raw, e = c.aboutTask(try, method, l.task, params, l.ask)
		return e
	})
	return raw, e
}

// again tries until something is known, with back-off. When ctx has ended the
// error says nothing.
func (l *line) again(ctx context.Context, method string, try func(*conn) *router.CallError) *router.CallError {
	for n, spoilt := 1, 0; ; n++ {
		e := l.try(ctx, try)
		if e == nil {
			l.reached()
			return nil
		}
		if ctx.Err() != nil {
			return e
		}
		if e.Code == router.OutputInvalid && !errors.Is(e.Err, errTooLarge) {
			spoilt++
		} else {
			spoilt = 0
		}
		if !passing(e, method) && (spoilt == 0 || spoilt == garbled) {
			l.reached()
			return e
		}
		l.missed(e)
		wait := time.NewTimer(max(e.RetryAfter, l.p.client.opts.Backoff.delay(l.task, n)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return e
		}
	}
}

// missed notes that the server could not be asked. One that takes a question and
// does not answer it was asked.
func (l *line) missed(e *router.CallError) {
	l.fault = e
	if l.heard == nil && l.silent != nil && e.Code != router.Timeout {
		l.heard = l.silent()
	}
}

func (l *line) reached() {
	l.fault = nil
	if l.heard != nil {
		l.heard()
		l.heard = nil
	}
}

func (l *line) try(ctx context.Context, f func(*conn) *router.CallError) *router.CallError {
	if l.conn == nil {
		c, e := l.p.get(ctx)
		if e != nil {
			return e
		}
		l.take(c)
	}
	e := f(l.conn)
	if e == nil {
		return nil
	}
	lost := l.p.lost(l.conn, e) || e.Code == router.Transport || e.Code == router.VersionUnsupported
	select {
	case <-l.conn.link.gone():
		lost = true
	default:
	}
	if lost {
		l.hangUp()
	}
	return e
}

// take uses a connection that was acquired.
func (l *line) take(c *conn) {
	l.conn, l.modern, l.leave = c, c.modern, func() {}
	if l.join != nil {
		l.leave = l.join(c)
	}
}

// hangUp gives the connection back.
func (l *line) hangUp() {
	if l.conn != nil {
		l.leave()
		l.conn.release()
		l.conn = nil
	}
}

// passing reports a failure that tells nothing of the task, and may be over soon.
// A server's own error to tasks/result is the call's, so it tells all.
func passing(e *router.CallError, method string) bool {
	switch e.Code {
	case router.Transport:
		return !errors.Is(e.Err, errClosed)
	case router.ServerOverload, router.SessionExpired, router.VersionUnsupported, router.Timeout:
		return true
	case router.ServerError:
		if e.RPCCode == 0 {
			return e.HTTPStatus == 0 || e.HTTPStatus >= 500
		}
		return e.RPCCode == protocol.INTERNAL_ERROR && method != methodTaskResult
	}
	return false
}

// aboutTask makes one request about a task. Over HTTP its id is repeated in a
// header, by which it finds the instance that has it.
func (c *conn) aboutTask(ctx context.Context, method, id string, params []byte, ask bool) (json.RawMessage, *router.CallError) {
	header := c.headers(method, id)
	if c.modern {
		params = addMeta(params, c.metaOf(true, ask))
	}
	resp, e := c.post(ctx, c.ids.Add(1), method, params, header)
	if e != nil {
		return nil, e
	}
	return resp.Result, nil
}
