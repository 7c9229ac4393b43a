package mcp

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// httpLink is mcp-go's Streamable HTTP with what it leaves out: the id of an
// answer is checked, the HTTP status decides what a failure means, and the
// JSON-RPC code and data survive.
type httpLink struct {
	*transport.StreamableHTTP
	url     string
	version atomic.Value // string; of the protocol
	hop     *origin
	start   opening
	asked   *requests
	closed  chan struct{}
	life    context.Context // ends with closed
	end     context.CancelFunc
	once    sync.Once
}

var (
	_ link                             = (*httpLink)(nil)
	_ transport.HTTPConnection         = (*httpLink)(nil)
	_ transport.BidirectionalInterface = (*httpLink)(nil)
)

func newHTTPLink(d *router.Dial, o *Options, w *wallet, t *tally) (*httpLink, *router.CallError) {
	u, config, err := siteOf(d)
	if err != nil {
		return nil, notSent(router.Transport, err.Error(), err)
	}
	hop := newOrigin(u, d.Headers, config, w, o)
	// The headers stay with hop, which knows where they may go.
	tr, err := transport.NewStreamableHTTP(d.URL,
		transport.WithHTTPBasicClient(&http.Client{Transport: hop, CheckRedirect: hop.redirect}),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, notSent(router.Transport, "the url cannot be used", nil)
	}
	l := &httpLink{StreamableHTTP: tr, url: d.URL, hop: hop, asked: newRequests(t), closed: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

// siteOf is where a server is, and whose certificate it must show ([certified]).
func siteOf(d *router.Dial) (*url.URL, *tls.Config, error) {
	u, err := url.Parse(d.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, errors.New("the url must be http:// or https:// with a host")
	}
	// Behind a proxy the address that is dialled is not the server's.
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && router.ServesMetadata(ip) {
		return nil, nil, errLinkLocal
	}
	config, err := certified(u, d)
	return u, config, err
}

// SendRequest makes one exchange. Its error is a *router.CallError.
func (l *httpLink) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	req, err := l.start.admit(req)
	if err != nil {
		return nil, err
	}
	id, _ := req.ID.Value().(int64) // mcp-go's and ours are
	ctx, ex := withExchange(ctx, id)
	ex.greets = req.Method == string(protocol.MethodServerDiscover) || req.Method == string(protocol.MethodInitialize)
	ex.asked = l.asked
	l.asked.add(id, ex.flight, nil)
	defer func() { l.asked.end(id, ex.flight.settle()) }()
	resp, err := l.post(ctx, ex, req)
	resp, failure := l.judge(ex, req, resp, err)
	if failure != nil {
		failure = sessionSecret(l.GetSessionId()).mask(failure)
	}
	l.start.observe(req.Method, resp, failure)
	if failure != nil {
		return nil, failure
	}
	return resp, nil
}

// judge decides by status, then by what arrived; mcp-go's own errors only say
// that something is missing.
func (l *httpLink) judge(ex *exchange, req transport.JSONRPCRequest,
	resp *transport.JSONRPCResponse, err error) (*transport.JSONRPCResponse, *router.CallError) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.status != 0 && (ex.status < 200 || ex.status > 299) {
		if req.Method == string(protocol.MethodServerDiscover) && err == nil && resp.Error != nil &&
			(ex.status == http.StatusBadRequest || ex.status == http.StatusNotFound) {
			return resp, nil // which error it is decides the era
		}
		return nil, l.turnedDown(ex)
	}
	if e, ok := errors.AsType[*router.CallError](err); ok {
		return nil, e // of what came before the request
	}
	if err != nil {
		return nil, ex.breakage(err)
	}
	if resp != nil && resp.ID.String() != req.ID.String() {
		l.asked.tally.add(WrongID)
		return nil, unknown(router.OutputInvalid, "the answer carries the id of another request", nil)
	}
	if kind := ex.flight.answered(ex.id); kind != noStray {
		l.asked.tally.add(kind)
		return nil, ex.flight.ended(true)
	}
	return conclude(req, resp)
}

// turnedDown is the failure of a request that was answered by a status other than
// 2xx; ex is locked. An answer it is, so that no cancel follows it; one that came late
// tells more than that it did.
func (l *httpLink) turnedDown(ex *exchange) *router.CallError {
	ex.flight.answered(ex.id)
	e := ex.rejection(l.hop.credentials || len(l.hop.wallet.cards) > 0)
	if ex.unmet != nil {
		e = ex.unmet.apply(e)
	}
	return e
}

// SendNotification sends a message that has no answer.
func (l *httpLink) SendNotification(ctx context.Context, n protocol.JSONRPCNotification) error {
	if err := l.StreamableHTTP.SendNotification(ctx, n); err != nil {
		return notSent(router.Transport, "the notification could not be sent: "+excerpt(bare(err).Error()), nil)
	}
	return nil
}

func (l *httpLink) gone() <-chan struct{} { return l.closed }
func (l *httpLink) opening() *opening     { return &l.start }
func (l *httpLink) requests() *requests   { return l.asked }

// stop ends the session, which takes a request in the earlier era.
func (l *httpLink) stop(ctx context.Context) {
	release := context.AfterFunc(ctx, l.hop.cut)
	defer release()
	l.once.Do(func() {
		close(l.closed)
		l.end()
		l.StreamableHTTP.Close() //nolint:errcheck // it has no error to give
		l.hop.idle()
	})
}
