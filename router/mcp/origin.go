package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"junction/router"
)

// maxRejection bounds what is read of an answer that is not 2xx.
const maxRejection = 64 << 10

var errLinkLocal = errors.New("link-local addresses and others that serve machine metadata are refused")

// origin is the one place HTTP requests of a connection leave by. It adds the
// configured headers to requests for its own scheme and host only, and records
// what mcp-go drops: the status, Retry-After and the body of a refusal.
type origin struct {
	scheme, host string
	headers      map[string]string
	credentials  bool // in headers, or in the URL
	wallet       *wallet
	tenure       tenure
	secrets      secrets
	limit        int
	next         *http.Transport
	multiplexed  atomic.Bool     // it speaks HTTP/2
	base         context.Context // ends with cut
	cut          context.CancelFunc
}

func newOrigin(u *url.URL, headers map[string]string, config *tls.Config, w *wallet, o *Options) *origin {
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: refuseLinkLocal}
	d := &router.Dial{URL: u.String(), Headers: headers}
	h := &origin{
		scheme: u.Scheme, host: u.Host, headers: headers,
		credentials: credentials(d), wallet: w, secrets: w.secrets,
		limit: o.MaxResponseBytes,
		next: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			TLSClientConfig:     config,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        o.KeepConnections,
			MaxIdleConnsPerHost: o.KeepConnections,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 15 * time.Second,
		},
	}
	h.base, h.cut = context.WithCancel(context.Background())
	return h
}

// refuseLinkLocal is asked after the name was resolved, so no name gets round it.
func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	if ap, err := netip.ParseAddrPort(address); err == nil && router.ServesMetadata(ap.Addr()) {
		return errLinkLocal
	}
	return nil
}

// redirect allows what stays on the origin and stays the same request.
func (h *origin) redirect(req *http.Request, via []*http.Request) error {
	if req.URL.Scheme != h.scheme || req.URL.Host != h.host || req.Method != via[0].Method || len(via) > 3 {
		return http.ErrUseLastResponse // the status then says that it was refused
	}
	return nil
}

// idle closes connections that wait for use.
func (h *origin) idle() {
	h.cut()
	h.next.CloseIdleConnections()
}

// RoundTrip implements [http.RoundTripper].
func (h *origin) RoundTrip(req *http.Request) (*http.Response, error) {
	ex := exchangeOf(req.Context())
	ctx := req.Context()
	if ex != nil && ex.begun != nil {
		resp := ex.begun
		ex.begun = nil
		return resp, nil
	}
	if ex != nil && ex.isAside(req) {
		return h.aside(req, ex)
	}
	if ex != nil && req.Method == http.MethodPost {
		ex.unanswered()
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: h.got, WroteHeaders: func() { ex.sent.Store(true) }})
	} else if req.Method == http.MethodDelete {
		return h.bye(req)
	}
	req = req.WithContext(ctx)
	resp, err := h.send(req, ex)
	if err != nil {
		return nil, err
	}
	if ex == nil || req.Method != http.MethodPost {
		resp.Body = h.body(resp, ex)
		return resp, nil
	}
	return h.record(req, resp, ex)
}

// bye ends a session on the server; it may not outlast stop.
func (h *origin) bye(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	release := context.AfterFunc(h.base, cancel)
	defer release()
	resp, err := h.next.RoundTrip(h.dressed(req.WithContext(ctx), h.wallet.worn.Load()))
	if err != nil {
		return nil, err
	}
	resp.Body.Close() //nolint:errcheck // nothing in it matters
	resp.Body = http.NoBody
	return resp, nil
}

// dressed gives a request for the origin the configured headers and a credential,
// in a header of its own.
func (h *origin) dressed(req *http.Request, b *badge) *http.Request {
	if b == nil && len(h.headers) == 0 || req.URL.Scheme != h.scheme || req.URL.Host != h.host {
		return req
	}
	req.Header = req.Header.Clone()
	for k, v := range h.headers {
		req.Header.Set(k, v)
	}
	if b != nil {
		req.Header[b.card.header] = b.value
	}
	sendOnce(req.Header)
	return req
}

// body bounds what is read of a response, in size and, of a request's events, by
// its answer.
func (h *origin) body(resp *http.Response, ex *exchange) io.ReadCloser {
	b := &bounded{ReadCloser: resp.Body, limit: h.limit, ex: ex, events: isEventStream(resp)}
	if !b.events || ex == nil {
		return b
	}
	return &events{ReadCloser: b, ex: ex}
}

func (h *origin) record(req *http.Request, resp *http.Response, ex *exchange) (*http.Response, error) {
	var body []byte
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		var err error
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxRejection))
		resp.Body.Close() //nolint:errcheck // only read from
		if err != nil && len(body) == 0 && req.Context().Err() != nil {
			return nil, fmt.Errorf("the refusal could not be read: %w", err)
		}
		// Masked before any of it is shortened for a message.
		body = []byte(h.secrets.whole(string(body)))
		resp.Body = io.NopCloser(bytes.NewReader(body))
	} else {
		resp.Body = h.body(resp, ex)
	}
	if resp.StatusCode == http.StatusUnauthorized && len(h.wallet.cards) == 0 {
		ex.unmet = &unmet{text: taken(demanded(resp.Header))}
	}
	h.tenure.hear(req, resp)
	ex.note(req, resp, body)
	// mcp-go drops the body of a 404 and ends the session; here the status has
	// been noted, and the body may hold a JSON-RPC error.
	if resp.StatusCode == http.StatusNotFound {
		resp.StatusCode = http.StatusBadRequest
	}
	return resp, nil
}
