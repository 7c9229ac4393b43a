package mcp

import (
	"context"
	"slices"
	"strings"
	"time"

	"junction/router"
)

// haggle is one request's way through the credentials: each is shown once, is
// renewed once where it can be, and gets more scope once.
type haggle struct {
	began   time.Time
	turned  map[*card]string // out of the question, and why
	last    *router.CallError
	renewed map[*card]bool
	widened bool
	looked  bool // for metadata, of a server that refuses without a word
	bearer  bool // it has some
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
	for _, k := range w.preferred() {
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

// preferred are the cards in the operator's order, but for one that a session was
// just given up for: it comes last.
func (w *wallet) preferred() []*card {
	gone := w.reopen.Load()
	if gone == nil {
		return w.cards
	}
	others := slices.DeleteFunc(slices.Clone(w.cards), func(k *card) bool { return k == gone })
	return append(others, gone)
}

// again is the refused badge's successor of the same card, or what another
// request has settled on meanwhile.
func (w *wallet) again(ctx context.Context, t *haggle, b *badge, d demand) *badge {
	k := b.card
	switch worn := w.worn.Load(); {
	case d.insufficient:
		return w.widened(ctx, t, b, d)
	case t.renewed[k]:
		return nil
	case worn != nil && worn != b && worn.token != b.token && t.turned[worn.card] == "":
		t.renewed[k] = true
		return worn
	case k.issue.fixed() || b.asked.After(t.began):
		return nil
	}
	t.renewed[k] = true
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
func (w *wallet) look(ctx context.Context, t *haggle, d *demand) {
	if d.schemes != nil || w.site == nil {
		return
	}
	if !t.looked {
		_, err := w.books.resource(ctx, d.metadata)
		t.looked, t.bearer = true, err == nil
	}
	if t.bearer {
		d.schemes = []string{"Bearer"}
	}
}
