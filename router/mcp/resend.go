package mcp

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
)

// What net/http sends again by itself when a connection lets a POST down:
//
//   - what it takes for idempotent by its headers, see [sendOnce]
//   - over HTTP/1, that of which not a byte was written
//   - over HTTP/2, what the server refused, or named in its farewell as not looked at,
//     and also what it ended with PROTOCOL_ERROR, however far it had come with it
//
// It may do the second only. Over HTTP/2 it is kept from having the body again, and
// what was refused is sent again by [origin.out].

// refusals is how often what a server of HTTP/2 refused is sent again at once.
const refusals = 2

// sendOnce keeps net/http from sending a request again by itself when a kept
// connection breaks under it. It takes these two headers for leave to do so, but
// knows them by their canonical spelling only; on the wire case means nothing.
func sendOnce(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = v
		}
	}
}

// got takes in how a connection speaks.
func (h *origin) got(info httptrace.GotConnInfo) {
	if c, ok := info.Conn.(*tls.Conn); ok && !h.multiplexed.Load() && c.ConnectionState().NegotiatedProtocol == "h2" {
		h.multiplexed.Store(true)
	}
}

var errSent = errors.New("the server ended the request before it answered")

// unrepeated is a POST whose body net/http cannot have a second time where the server
// may have looked at the first.
func (h *origin) unrepeated(req *http.Request, ex *exchange) *http.Request {
	body := req.GetBody
	if body == nil {
		return req
	}
	once := *req
	if once.GetBody = nil; !h.multiplexed.Load() {
		once.GetBody = func() (io.ReadCloser, error) {
			if h.multiplexed.Load() && ex.sent.Load() { // the first connection that speaks so
				return nil, errSent
			}
			return body()
		}
	}
	return &once
}

// fallen is whether the server may have looked at the request of an exchange, and its
// error without what net/http says of the body that it wanted again. Only the text
// tells: of another text, it may.
func fallen(err error) (looked bool, cause error) {
	if err == nil {
		return true, nil
	}
	text, ok := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err [")
	if !ok {
		return true, err
	}
	text, _, _ = strings.Cut(text, "] after Request.Body was written")
	refused := strings.HasSuffix(text, "; REFUSED_STREAM; received from peer") || strings.HasSuffix(text, " graceful shutdown GOAWAY")
	return !refused, errors.New(text)
}
