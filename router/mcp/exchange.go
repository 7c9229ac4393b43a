package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"junction/router"
	"junction/state"
)

// Headers beside MCP's own that servers of this family send or read.
const (
	headerTimeout  = "X-MCP-Timeout-Seconds"
	headerDuration = "X-MCP-Actual-Duration"
	headerDetails  = "X-MCP-Error-Details"
)

var errTooLarge = errors.New("the answer is larger than allowed")

// exchange is one request on its way: what decides how it ends, and, over HTTP,
// what was seen of it on the wire.
type exchange struct {
	id     int64
	flight *flight
	asked  *requests   // over HTTP, where strays are counted
	sent   atomic.Bool // over HTTP, the request's header has been written
	posted atomic.Bool // over HTTP, the request was taken up; what is posted later is an aside
	asides atomic.Int32
	begun  *http.Response // over HTTP, an answer that mcp-go is to read; see post.go
	greets bool           // part of the handshake
	unmet  *unmet         // why no credential served it; nil: none was asked for, or one did
	// rebadged says that the server knows us by another credential from here on, and
	// may tell of other tools.
	rebadged bool

	mu        sync.Mutex
	status    int // of the POST; 0: no answer began
	session   bool
	retry     time.Duration
	retrySet  bool
	details   string
	elsewhere string        // the origin that a redirect points to
	duration  time.Duration // the server's own
	body      []byte        // of a refusal
	broke     error         // what ended the body early
}

type exchangeKey struct{}

// withExchange returns the exchange of the request in ctx, adding one where there
// is none: the request is then no call of a tool.
func withExchange(ctx context.Context, id int64) (context.Context, *exchange) {
	if ex := exchangeOf(ctx); ex != nil && ex.id == id {
		return ctx, ex
	}
	return newExchange(ctx, id, alone(ctx, id))
}

func newExchange(ctx context.Context, id int64, f *flight) (context.Context, *exchange) {
	ex := &exchange{id: id, flight: f}
	return context.WithValue(ctx, exchangeKey{}, ex), ex
}

func exchangeOf(ctx context.Context) *exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	return ex
}

// took is how long the server says it worked; 0: it did not say.
func (x *exchange) took() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.duration
}

// unanswered forgets the status of a redirect that is followed now: it says nothing of
// what becomes of the request where it leads.
func (x *exchange) unanswered() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.elsewhere = 0, ""
}

func (x *exchange) note(req *http.Request, resp *http.Response, body []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.body = resp.StatusCode, body
	x.session = req.Header.Get(transport.HeaderKeySessionID) != ""
	x.retry, x.retrySet = retryAfter(resp.Header)
	x.details, x.elsewhere = resp.Header.Get(headerDetails), elsewhere(req, resp)
	x.duration = seconds(resp.Header.Get(headerDuration))
}

// elsewhere is the origin that a redirect points to, without what else is in its
// address, which may be secret.
func elsewhere(req *http.Request, resp *http.Response) string {
	location := resp.Header.Get("Location")
	if !redirects(resp.StatusCode) || location == "" {
		return ""
	}
	u, err := req.URL.Parse(location)
	if err != nil || u.Host == "" {
		return ""
	}
	return excerpt(u.Scheme + "://" + u.Host)
}

func redirects(status int) bool { return status >= 300 && status < 400 }

// rejection says what a status other than 2xx means. 429, and 503 with
// Retry-After, are refusals before work; a bare 5xx may come from a proxy that
// lost the answer.
func (x *exchange) rejection(credentials bool) *router.CallError {
	rpc := x.rpcError()
	e := unknown(router.ServerError, "", nil)
	switch {
	case x.status == http.StatusUnauthorized && !credentials:
		e.Code, e.Execution = router.AuthRequired, state.NotExecuted
	case x.status == http.StatusUnauthorized, x.status == http.StatusForbidden:
		e.Code, e.Execution = router.AuthMismatch, state.NotExecuted
	case x.status == http.StatusTooManyRequests:
		e.Code, e.Execution = router.ServerOverload, state.NotExecuted
	case x.sessionLost():
		e.Code, e.Execution = router.SessionExpired, state.NotExecuted
	case x.status == http.StatusServiceUnavailable:
		e.Code = router.ServerOverload
		if x.retrySet {
			e.Execution = state.NotExecuted
		}
	case rpc != nil:
		e = rpc
	case neverReceived(x.status):
		e.Code, e.Execution = router.Transport, state.NotExecuted
	}
	e.HTTPStatus, e.RetryAfter = x.status, x.retry
	text := excerpt(string(x.body))
	if rpc != nil {
		e.RPCCode, e.Data = rpc.RPCCode, rpc.Data
		text = rpc.Message
	}
	e.Message = fmt.Sprintf("HTTP status %d %s", x.status, http.StatusText(x.status))
	if x.elsewhere != "" {
		e.Message += " to " + x.elsewhere
	}
	if text != "" {
		e.Message += ": " + text
	}
	if x.details != "" {
		e.Message += " (" + excerpt(x.details) + ")"
		if e.Data == nil {
			e.Data = x.details
		}
	}
	return e
}

// neverReceived lists statuses that refuse the form of a request, redirects
// among them: no tool was reached. 303 is none of them: it points to the result
// of a request that was worked on.
func neverReceived(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusGone,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest:
		return true
	}
	return redirects(status) && status != http.StatusSeeOther
}

// rpcError reads a JSON-RPC error from the body of a refusal.
func (x *exchange) rpcError() *router.CallError {
	var resp transport.JSONRPCResponse
	err := json.Unmarshal(x.body, &resp)
	if err == nil && resp.Error != nil && resp.Error.Code != 0 {
		return refused(resp.Error)
	}
	return nil // a refusal that is no JSON-RPC is judged by its status
}

// breakage says what an exchange means that brought no usable answer.
func (x *exchange) breakage(err error) *router.CallError {
	if x.broke != nil && errors.Is(x.broke, errTooLarge) {
		return unknown(router.OutputInvalid, x.broke.Error(), x.broke)
	}
	if as := x.flight.settle(); as == cancelled || as == timedOut {
		return x.flight.ended(x.sent.Load())
	}
	err = bare(err)
	switch {
	case !x.sent.Load():
		return notSent(router.Transport, "the request could not be sent: "+excerpt(err.Error()), err)
	case x.status == 0:
		return unknown(router.Transport, "the connection broke before an answer came: "+excerpt(err.Error()), err)
	case x.broke != nil:
		return unknown(router.Transport, "the answer broke off: "+excerpt(x.broke.Error()), x.broke)
	}
	e := unknown(router.OutputInvalid, "the answer cannot be read: "+excerpt(err.Error()), nil)
	e.HTTPStatus = x.status
	return e
}

// bounded limits a body: an event stream by event, since progress may go on
// for as long as a call lives, anything else as a whole.
type bounded struct {
	io.ReadCloser
	limit, seen int
	events      bool
	ex          *exchange
	crowd       crowd
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.seen += n
	from := 0
	if b.events {
		// An event ends with an empty line; LF and CRLF both end lines.
		for _, end := range []string{"\n\n", "\n\r\n"} {
			if i := bytes.LastIndex(p[:n], []byte(end)); i >= 0 {
				b.seen = min(b.seen, n-i-len(end))
				from, b.crowd = max(from, i+len(end)), crowd{}
			}
		}
	}
	b.crowd.take(p[from:n])
	switch {
	case b.seen > b.limit:
		n, err = 0, errTooLarge
	case b.crowd.values > mostValues(b.limit):
		n, err = 0, errCrowded
	}
	if err != nil && !errors.Is(err, io.EOF) && b.ex != nil {
		b.ex.mu.Lock()
		b.ex.broke = err
		b.ex.mu.Unlock()
	}
	return n, err
}

func isEventStream(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && media == "text/event-stream"
}

// retryAfter reads the header's seconds or date; the date is held against the
// server's own Date, so that its clock does not matter.
func retryAfter(h http.Header) (time.Duration, bool) {
	v := h.Get("Retry-After")
	if v == "" {
		return 0, false
	}
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, true
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now)), true
}

// seconds reads a duration, of which a bare number is seconds.
func seconds(v string) time.Duration {
	if d, err := time.ParseDuration(v); err == nil && d > 0 {
		return d
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && f > 0 && f < 1e9 {
		return time.Duration(f * float64(time.Second))
	}
	return 0
}
