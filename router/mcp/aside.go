package mcp

import (
	"errors"
	"net/http"
)

// asides is how many answers of ours, to what a server asks in the middle of one
// call, may be under way at once over HTTP.
const asides = 16

var errAsides = errors.New("the server asks more in the middle of a call than is answered at once")

// isAside reports whether req is no request of ours but an answer to one of the
// server's, which came in the stream that answers x. A redirected request is the
// same request.
func (x *exchange) isAside(req *http.Request) bool {
	return req.Method == http.MethodPost && req.Response == nil && !x.posted.CompareAndSwap(false, true)
}

// aside sends such an answer. How it fares says nothing of the call. What is too
// much is dropped: a server that floods us with requests must not make us open
// connections and wait without bound.
func (h *origin) aside(req *http.Request, x *exchange) (*http.Response, error) {
	defer x.asides.Add(-1)
	if x.asides.Add(1) > asides {
		return nil, errAsides
	}
	resp, err := h.next.RoundTrip(h.dressed(req, h.wallet.worn.Load()))
	if err != nil {
		return nil, err
	}
	resp.Body.Close() //nolint:errcheck // nothing in it matters
	resp.Body = http.NoBody
	if resp.StatusCode == http.StatusNotFound {
		resp.StatusCode = http.StatusBadRequest // see record
	}
	return resp, nil
}
