package mcp

import (
	"context"
	"net/textproto"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"junction/router"
)

// wallet holds the credentials of one server and knows which of them it took. It
// outlives connections, and nothing in it is ever written anywhere.
type wallet struct {
	site    *url.URL // the server's; credentials are shown to its origin only
	books   *library
	cards   []*card // in the operator's order
	secrets secrets

	worn   atomic.Pointer[badge] // what requests are sent with; nil: nothing
	reopen atomic.Pointer[card]  // for which a session was given up, see origin.unmet

	mu       sync.Mutex
	closed   bool
	base     context.Context // ends with close
	end      context.CancelFunc
	renewals sync.WaitGroup
}

// card is one credential, and the badge last made of it.
type card struct {
	kind   string
	header string // canonical
	issue  issuer
	pace   func(failures int) time.Duration

	mu       sync.Mutex
	last     *badge
	renewal  *renewal  // under way
	failures int       // of renewals, in a row
	spurned  int       // renewals in a row whose token the server refused at once
	retryAt  time.Time // after a failure: no renewal before
	failure  *router.CallError
}

// issuer makes the tokens of a card. What it returns lasts for ttl from when it
// was asked (0: unsaid); where it may have changed unannounced, it is asked again
// after look.
type issuer interface {
	token(ctx context.Context, d demand) (issued, *router.CallError)
	// fixed says that asking again gives the same.
	fixed() bool
}

type issued struct {
	token     string
	ttl, look time.Duration
	scopes    []string
}

// renewal is an attempt at a badge that requests share.
type renewal struct {
	done  chan struct{}
	badge *badge
	err   *router.CallError
}

// renewWithin bounds one renewal, all its exchanges together.
const renewWithin = 30 * time.Second

// newWallet returns an empty one where nothing is configured.
func newWallet(d *router.Dial, known secrets, pace func(failures int) time.Duration) *wallet {
	w := &wallet{secrets: known}
	w.base, w.end = context.WithCancel(context.Background())
	w.site, _ = url.Parse(d.URL) //nolint:errcheck // the link refuses such a URL
	if len(d.Auth) > 0 {
		w.books = newLibrary(w.site, d)
	}
	for _, c := range d.Auth {
		k := &card{kind: schemeKind(c.Scheme), header: c.Header, pace: pace}
		switch {
		case k.header != "":
		case k.kind == kindAPIKey:
			k.header = "X-Api-Key"
		default:
			k.header = "Authorization"
		}
		k.header = textproto.CanonicalMIMEHeaderKey(k.header)
		switch {
		case c.OAuth != nil:
			k.issue = newGrant(c.OAuth, w.books, known)
		case c.File != "":
			k.issue = tokenFile(c.File)
		default:
			k.issue = fixedToken(c.Token)
		}
		w.cards = append(w.cards, k)
	}
	return w
}

// wear returns the badge for a request; nil: none. It costs a settled credential
// one load and one look at the clock.
func (w *wallet) wear(ctx context.Context) (*badge, *router.CallError) {
	b := w.worn.Load()
	if b == nil || b.renewAt.IsZero() {
		return b, nil
	}
	now := time.Now()
	if now.Before(b.renewAt) {
		return b, nil
	}
	if b.tooOld.IsZero() || now.Before(b.tooOld) {
		w.renew(b.card, b, demand{})
		return b, nil
	}
	next, e := w.obtain(ctx, b.card, b, demand{})
	if e != nil && time.Now().Before(b.ends) {
		return b, nil // it is good for a little longer
	}
	return next, e
}

// obtain returns a badge of a card that is not old, waiting for it with ctx.
func (w *wallet) obtain(ctx context.Context, k *card, old *badge, d demand) (*badge, *router.CallError) {
	r := w.renew(k, old, d)
	select {
	case <-r.done:
		return r.badge, r.err
	case <-ctx.Done():
		return nil, ended(ctx, false)
	}
}

// renew joins the renewal under way or begins one. A badge that is newer than old
// will do.
func (w *wallet) renew(k *card, old *badge, d demand) *renewal {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.renewal != nil {
		return k.renewal
	}
	r := &renewal{done: make(chan struct{})}
	now := time.Now()
	switch wait := k.retryAt.Sub(now); {
	case k.last != nil && k.last != old && (k.last.tooOld.IsZero() || now.Before(k.last.tooOld)):
		r.badge = k.last
	case wait > 0:
		v := *k.failure
		v.RetryAfter = wait
		r.err = &v
	default:
		if !w.begin(func() { w.fetch(k, old, d, r) }) {
			r.err = notSent(router.Transport, "the connection was closed", nil)
			break
		}
		k.renewal = r
		return r
	}
	close(r.done)
	return r
}

// begin starts work that close waits for; false: it is too late for any.
func (w *wallet) begin(work func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.renewals.Go(work)
	}
	return !w.closed
}

// fetch makes a badge and tells those who wait for it.
func (w *wallet) fetch(k *card, old *badge, d demand, r *renewal) {
	ctx, cancel := context.WithTimeout(w.base, renewWithin)
	defer cancel()
	asked := time.Now()
	k.mu.Lock()
	d.anew = k.spurned > 0
	k.mu.Unlock()
	got, e := k.issue.token(ctx, d)
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(r.done)
	k.renewal = nil
	if e != nil {
		k.failures++
		k.retryAt, k.failure = time.Now().Add(max(min(e.RetryAfter, longestAsked), k.pace(k.failures))), e
		r.err = e
		return
	}
	w.secrets.learn(got.token)
	k.failures, k.retryAt, k.failure = 0, time.Time{}, nil
	r.badge = k.made(got, asked, d)
	k.last = r.badge
	if old != nil {
		w.worn.CompareAndSwap(old, r.badge)
	}
}

// close ends renewals; wait returns when they have ended.
func (w *wallet) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
}

func (w *wallet) wait() { w.renewals.Wait() }

func sameCredential(a, b router.Credential) bool {
	ax, bx := a.OAuth, b.OAuth
	a.OAuth, b.OAuth = nil, nil
	if a != b || (ax == nil) != (bx == nil) {
		return false
	}
	return ax == nil || ax.Issuer == bx.Issuer && ax.ClientID == bx.ClientID && ax.ClientSecret == bx.ClientSecret &&
		ax.KeyFile == bx.KeyFile && slices.Equal(ax.Scopes, bx.Scopes)
}

// schemeBehind names the scheme by which a link's server knows us, "" for none.
func schemeBehind(l link, d *router.Dial) string {
	if h, ok := l.(*httpLink); ok {
		if b := h.hop.wallet.worn.Load(); b != nil {
			return b.card.kind
		}
	}
	return scheme(d)
}
