package mcp

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"time"

	"junction/router"
)

// Courier carries HTTP requests of its user's own making to one server, for those
// who look at what passes on the wire: with the headers, the certificate check and
// the credentials that its Dial has, each shown to the URL's origin only and where
// it is asked for. It follows no redirect. Close it.
type Courier struct {
	site   *url.URL
	dial   *router.Dial
	hop    *origin
	books  *library
	client *http.Client
}

// NewCourier returns a courier to the URL of d.
func NewCourier(d *router.Dial) (*Courier, error) {
	u, config, err := siteOf(d)
	if err != nil {
		return nil, err
	}
	var o Options
	o = o.withDefaults()
	w := newWallet(d, secretsOf(d), func(failures int) time.Duration { return o.Backoff.delay("courier", failures) })
	c := &Courier{site: u, dial: d, hop: newOrigin(u, d.Headers, config, w, &o), books: newLibrary(u, d)}
	c.client = &http.Client{Transport: c.hop, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// Do makes one exchange. A refusal comes before any work, so that a request whose
// body can be read again goes once with each credential that the server may take.
// The error names no URL.
func (c *Courier) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return resp, nil
}

// Certificate says whose certificate the server has to show; nil: one for the URL's
// host that the system trusts.
func (c *Courier) Certificate() *tls.Config { return c.hop.next.TLSClientConfig.Clone() }

// Worn is the kind of the credential that the server took last of those that it
// is shown where it asks; "" for none.
func (c *Courier) Worn() string {
	if b := c.hop.wallet.worn.Load(); b != nil {
		return b.card.kind
	}
	return ""
}

// Mask removes the server's credentials from text that may repeat them, and what
// could drive a terminal.
func (c *Courier) Mask(text string) string {
	return c.hop.secrets.text(excerpt(c.hop.secrets.whole(text)))
}

// Respelt makes one exchange with the credential of Authorization under another
// spelling of its scheme; ok is false where none is held there. It goes to the same
// origin as ever.
func (c *Courier) Respelt(req *http.Request, spelling string) (resp *http.Response, ok bool, err error) {
	token := c.token(req.Context())
	if token == "" || !sameOrigin(req.URL, c.site) {
		return nil, false, nil
	}
	req = req.Clone(req.Context())
	for k, v := range c.dial.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Authorization", spelling+" "+token)
	resp, err = c.hop.next.RoundTrip(req)
	if err != nil {
		return nil, true, bare(err)
	}
	resp.Body = c.hop.body(resp, nil)
	return resp, true, nil
}

// token is what would follow the scheme in Authorization.
func (c *Courier) token(ctx context.Context) string {
	for k, v := range c.dial.Headers {
		if strings.EqualFold(k, "Authorization") {
			_, token, _ := strings.Cut(v, " ")
			return token
		}
	}
	for _, k := range c.hop.wallet.cards {
		if k.header != "Authorization" {
			continue
		}
		if b, e := c.hop.wallet.obtain(ctx, k, nil, demand{}); e == nil {
			return b.token
		}
	}
	return ""
}

// Protected is a server's protected-resource metadata (RFC 9728).
type Protected struct {
	Issuers []string
	Scopes  []string
}

// Protected reads the metadata from where a challenge says, else from the well-known
// places at the server's own origin.
func (c *Courier) Protected(ctx context.Context, said string) (*Protected, error) {
	r, err := c.books.resource(ctx, said)
	if err != nil {
		return nil, err
	}
	return &Protected{Issuers: r.Servers, Scopes: r.Scopes}, nil
}

// Close ends what the courier keeps open.
func (c *Courier) Close() {
	c.hop.wallet.close()
	c.hop.idle()
	c.hop.wallet.wait()
}

// Demand is what a refusal says that the server wants to be shown.
type Demand struct {
	Schemes      []string // as the server writes them, in its order; nil: it does not say
	Metadata     string   // URL of the protected resource's metadata; "": unsaid
	Scope        string
	Insufficient bool // the token was good, and its scope too small
}

// Demanded reads it from an answer's headers: WWW-Authenticate and X-MCP-Auth-Schemes.
func Demanded(h http.Header) Demand {
	d := demanded(h)
	return Demand{Schemes: d.schemes, Metadata: d.metadata, Scope: d.scope, Insufficient: d.insufficient}
}

// Takes reports whether a credential of a kind is one that is wanted.
func (d Demand) Takes(kind string) bool {
	return (&demand{schemes: d.Schemes}).takes(kind)
}

// SchemeKind is the one name of a scheme: case and hyphens mean nothing.
func SchemeKind(scheme string) string { return schemeKind(scheme) }

// Speaks reports whether this package can show a credential of a scheme.
func Speaks(scheme string) bool {
	switch schemeKind(scheme) {
	case kindBearer, kindAPIKey, kindJWT, kindOAuth:
		return true
	}
	return false
}
