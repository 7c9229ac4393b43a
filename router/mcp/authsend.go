package mcp

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"junction/router"
)

// haggle is one request's way through the credentials: each is shown once, is
// renewed once where it can be, and gets more scope once.
type haggle struct {
	began   time.Time
	turned  map[*card]string // out of the question, and why
	last    *router.CallError
	renewed bool
	widened bool
}

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
	if ex != nil {
		ex.sent.Store(false)
		if !ex.flight.leave() {
			return nil, ex.flight.ended(false)
		}
	}
	return h.next.RoundTrip(h.dressed(req, b))
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
	t := haggle{began: time.Now(), turned: map[*card]string{}}
	for {
		d := demanded(resp.Header)
		w.look(ctx, &d)
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

// next is the badge to try after b was refused; nil: there is none.
func (w *wallet) next(ctx context.Context, t *haggle, b *badge, d demand, inSession bool) *badge {
	if b != nil {
		if again := w.again(ctx, t, b, d); again != nil {
			return again
		}
		if t.turned[b.card] == "" {
			t.turned[b.card] = "refused"
		}
		if inSession && b == w.worn.Load() {
			return nil // a session is used by its owner only
		}
	}
	for _, k := range w.cards {
		if _, done := t.turned[k]; done {
			continue
		}
		if !d.takes(k.kind) {
			continue
		}
		fresh, e := w.obtain(ctx, k, nil, d)
		if e == nil {
			return fresh
		}
		t.turned[k], t.last = e.Message, e
	}
	return nil
}

// again is the refused badge's successor of the same card, or what another
// request has settled on meanwhile.
func (w *wallet) again(ctx context.Context, t *haggle, b *badge, d demand) *badge {
	k := b.card
	switch worn := w.worn.Load(); {
	case d.insufficient:
		return w.widened(ctx, t, b, d)
	case t.renewed:
		return nil
	case worn != nil && worn != b && worn.token != b.token:
		t.renewed = true
		return worn
	case k.issue.fixed() || b.asked.After(t.began):
		return nil
	}
	t.renewed = true
	fresh, e := w.obtain(ctx, k, b, d)
	if e != nil {
		t.turned[k], t.last = e.Message, e
		return nil
	}
	if fresh.token == b.token {
		return nil
	}
	return fresh
}

// widened asks once for a token with the scope that the request needs.
func (w *wallet) widened(ctx context.Context, t *haggle, b *badge, d demand) *badge {
	lacks := func(b *badge) bool {
		return slices.ContainsFunc(strings.Fields(d.scope), func(s string) bool { return !slices.Contains(b.scopes, s) })
	}
	if t.widened || b.card.kind != kindOAuth || !lacks(b) {
		return nil
	}
	t.widened = true
	fresh := b
	for range 2 { // the first may join a renewal that knows nothing of the scope
		var e *router.CallError
		if fresh, e = w.obtain(ctx, b.card, fresh, d); e != nil {
			t.turned[b.card], t.last = e.Message, e
			return nil
		}
		if !lacks(fresh) {
			return fresh
		}
	}
	return nil
}

// look finds out what a server takes that refuses without a word about it: one
// with protected-resource metadata takes bearer tokens.
func (w *wallet) look(ctx context.Context, d *demand) {
	if d.schemes != nil || w.site == nil {
		return
	}
	if _, err := w.books.resource(ctx, d.metadata); err == nil {
		d.schemes = []string{"Bearer"}
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
