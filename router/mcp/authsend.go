package mcp

import (
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"junction/router"
)

// send makes a request with the credential that the server took last, else with
// none. A refusal comes before any work, so the request is sent again with
// another one: recovery takes one more exchange.
func (h *origin) send(req *http.Request, ex *exchange) (*http.Response, error) {
	b, e := h.wallet.wear(req.Context())
	if e != nil {
		return nil, e
	}
	plain := req.Header // which is not changed
	resp, err := h.out(req, b, ex)
	if err != nil || len(h.wallet.cards) == 0 || !h.asks(resp, b, ex) {
		return resp, err
	}
	req.Header = plain
	return h.haggle(req, resp, b, ex)
}

// out makes one exchange, unless the request has ended by now. Of one that is sent
// again nothing was done before.
func (h *origin) out(req *http.Request, b *badge, ex *exchange) (*http.Response, error) {
	if ex == nil || req.Method != http.MethodPost { // a notification, or a stream that is taken up again
		return h.next.RoundTrip(h.dressed(req, b))
	}
	for again := refusals; ; again-- {
		ex.sent.Store(false)
		if !ex.flight.leave() {
			return nil, ex.flight.ended(false)
		}
		resp, err := h.next.RoundTrip(h.unrepeated(h.dressed(req, b), ex))
		looked, err := fallen(err)
		if looked {
			return resp, err
		}
		ex.sent.Store(false)
		next := rewound(req)
		if again == 0 || next == nil {
			return nil, err
		}
		req = next
	}
}

// asks reports whether an answer wants another credential than b. A server may
// also say what it takes when it answers the handshake.
func (h *origin) asks(resp *http.Response, b *badge, ex *exchange) bool {
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return true
	case resp.StatusCode == http.StatusForbidden: // some gateways say so where nothing is shown
		return b == nil && !h.credentials || b != nil && b.card.kind == kindOAuth && demanded(resp.Header).insufficient
	case b != nil || h.credentials || ex == nil || !ex.greets:
		return false
	}
	return resp.StatusCode < 300 && resp.Header.Get(headerSchemes) != ""
}

func (h *origin) haggle(req *http.Request, resp *http.Response, b *badge, ex *exchange) (*http.Response, error) {
	w, ctx := h.wallet, req.Context()
	t := haggle{began: time.Now(), turned: map[*card]string{}, renewed: map[*card]bool{}}
	for {
		d := demanded(resp.Header)
		w.look(ctx, &t, &d)
		next := w.next(ctx, &t, b, d, inSession(req))
		var again *http.Request
		if next != nil {
			again = rewound(req)
		}
		switch {
		case again != nil:
		case ctx.Err() != nil && ex != nil:
			discard(resp)
			return nil, ex.flight.ended(false)
		default:
			return h.unmet(req, resp, b, d, &t, ex)
		}
		discard(resp)
		var err error
		if resp, err = h.out(again, next, ex); err != nil {
			return nil, err
		}
		if b = next; !h.asks(resp, b, ex) {
			if was := w.settle(b); ex != nil && was != b.card && !ex.greets {
				ex.rebadged = true
			}
			return resp, nil
		}
	}
}

// settle keeps a badge that the server took, and returns whose was worn before.
func (w *wallet) settle(b *badge) (was *card) {
	b.card.mu.Lock()
	b.card.spurned = 0
	b.card.mu.Unlock()
	if gone := w.reopen.Load(); gone != nil && gone != b.card {
		w.reopen.CompareAndSwap(gone, nil)
	}
	if before := w.worn.Swap(b); before != nil {
		return before.card
	}
	return nil
}

// unmet ends a request that no credential served. A session whose credential was
// refused is opened anew, once, where another one may be taken.
func (h *origin) unmet(req *http.Request, resp *http.Response, b *badge, d demand, t *haggle, ex *exchange) (*http.Response, error) {
	w := h.wallet
	if ex != nil {
		ex.unmet = w.explain(d, t)
	}
	if resp.StatusCode < 300 { // to a handshake
		if d.optional() {
			return resp, nil
		}
		discard(resp)
		e := notSent(router.AuthMismatch, "the handshake says what the server takes", nil)
		return nil, ex.unmet.apply(e)
	}
	if b == nil {
		return resp, nil
	}
	if b.asked.After(t.began) && !b.card.issue.fixed() {
		w.spurn(b.card)
	}
	other := slices.ContainsFunc(w.cards, func(k *card) bool { return t.turned[k] == "" && d.takes(k.kind) })
	if ex != nil && other && inSession(req) && resp.StatusCode == http.StatusUnauthorized && w.reopen.Load() != b.card {
		w.reopen.Store(b.card)
		w.worn.CompareAndSwap(b, nil)
		ex.unmet.reopen = true
	}
	return resp, nil
}

// spurn paces the renewals of a card whose new tokens are refused.
func (w *wallet) spurn(k *card) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spurned++
	k.failure = notSent(router.AuthMismatch, "the server refuses its tokens, new ones too", nil)
	k.retryAt = time.Now().Add(k.pace(k.spurned))
}

// inSession reports whether a request is part of a session.
func inSession(req *http.Request) bool { return req.Header.Get(transport.HeaderKeySessionID) != "" }

// rewound is a request to be sent again; nil: its body is gone.
func rewound(req *http.Request) *http.Request {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again
	}
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	again.Body = body
	return again
}

// discard ends an answer. The connection of a refusal can be used again; anything
// else may be a stream without an end.
func discard(resp *http.Response) {
	if resp.StatusCode >= 300 {
		io.CopyN(io.Discard, resp.Body, maxRejection) //nolint:errcheck // what is left is cut
	}
	resp.Body.Close() //nolint:errcheck // only read from
}
