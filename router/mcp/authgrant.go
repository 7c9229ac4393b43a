package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"junction/router"
)

const (
	// rediscover is how long an issuer's metadata is believed.
	rediscover = time.Hour
	// assertionLasts is the life of one proof of the client's key.
	assertionLasts = 5 * time.Minute
	maxScopes      = 64
	maxKeyFile     = 64 << 10
)

// grant obtains tokens by the client credentials grant (RFC 6749, 4.4). The
// issuer gets what is configured for it and no more; the server gets the token.
// One request is made at a time.
type grant struct {
	client  *router.OAuthClient
	books   *library
	secrets secrets

	from     *issuerData // nil: not looked up, or not to be believed any more
	found    time.Time
	said     string   // where the server says that its metadata is; "": in the well-known places
	resource string   // that tokens are for
	scopes   []string // asked for so far
}

func newGrant(c *router.OAuthClient, books *library, known secrets) *grant {
	return &grant{client: c, books: books, secrets: known, scopes: slices.Clone(c.Scopes)}
}

func (g *grant) fixed() bool { return false }

func (g *grant) token(ctx context.Context, d demand) (issued, *router.CallError) {
	if g.books.site == nil {
		return issued{}, notSent(router.AuthMismatch, "the url cannot be read", nil)
	}
	if d.metadata != "" {
		g.said = d.metadata
	}
	if g.from == nil || d.anew || time.Since(g.found) > rediscover {
		if err := g.discover(ctx, d); err != nil {
			g.from = nil
			return issued{}, g.failure(ctx, err)
		}
	}
	scopes := g.wanted(d)
	config, err := g.config(scopes)
	if err != nil {
		return issued{}, g.failure(ctx, err)
	}
	u, _ := url.Parse(g.from.Token) //nolint:errcheck // it was parsed before
	t, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, g.books.client(u)))
	if err != nil {
		g.from = nil
		return issued{}, g.failure(ctx, err)
	}
	if kind := t.Type(); !strings.EqualFold(kind, "Bearer") {
		return issued{}, g.failure(ctx, fmt.Errorf("it issues tokens of the type %s, which cannot be shown", quote(kind)))
	}
	if fault := unfit(t.AccessToken); fault != "" {
		return issued{}, g.failure(ctx, errors.New("its answer "+fault))
	}
	g.scopes = scopes
	got := issued{token: t.AccessToken, scopes: scopes}
	if !t.Expiry.IsZero() {
		got.ttl = max(time.Until(t.Expiry), time.Nanosecond) // relative on the wire: no clock but ours counts
	}
	return got, nil
}

// discover finds the issuer and what tokens have to be for.
func (g *grant) discover(ctx context.Context, d demand) error {
	site := g.books.site
	plain := url.URL{Scheme: site.Scheme, Host: site.Host, Path: site.Path, RawPath: site.RawPath}
	g.resource = plain.String()
	name := g.client.Issuer
	if name == "" || g.said != "" {
		about, err := g.books.resource(ctx, g.said)
		switch {
		case err == nil:
			g.resource = about.Resource
			if len(g.scopes) == 0 && d.scope == "" {
				g.scopes = limited(about.Scopes)
			}
			if name == "" {
				if name, err = g.named(about); err != nil {
					return err
				}
			}
		case name == "":
			return err
		}
	}
	var err error
	if g.from, err = g.books.issuer(ctx, name); err != nil {
		return err
	}
	g.found = time.Now()
	if len(g.from.Grants) > 0 && !slices.Contains(g.from.Grants, "client_credentials") {
		return fmt.Errorf("the issuer %s grants nothing to a client by itself (client_credentials)", quote(name))
	}
	return nil
}

// named is the issuer that the server names, where nobody else has. A server
// could name its own to be handed the client's secret; so it has to be the
// server's origin, or both on this machine.
func (g *grant) named(about *resource) (string, error) {
	for _, name := range about.Servers {
		u, err := url.Parse(name)
		if err == nil && (sameOrigin(u, g.books.site) || loopback(u) && loopback(g.books.site)) {
			return name, nil
		}
	}
	if len(about.Servers) == 0 {
		return "", errors.New("the server names no issuer of tokens: say it (issuer)")
	}
	return "", fmt.Errorf("the server names the issuer %s, at another origin; where that is right, say it (issuer): the client's secret goes there", quote(about.Servers[0]))
}

// wanted are the scopes to ask for: the operator's, else those the server names;
// and what a request turned out to need besides.
func (g *grant) wanted(d demand) []string {
	scopes := slices.Clone(g.scopes)
	if d.insufficient || len(g.client.Scopes) == 0 {
		for _, s := range strings.Fields(d.scope) {
			if !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return limited(scopes)
}

func limited(scopes []string) []string { return slices.Clip(scopes[:min(len(scopes), maxScopes)]) }

// config is a token request as the issuer wants it.
func (g *grant) config(scopes []string) (*clientcredentials.Config, error) {
	c := &clientcredentials.Config{
		ClientID: g.client.ClientID, TokenURL: g.from.Token, Scopes: scopes,
		EndpointParams: url.Values{"resource": {g.resource}},
	}
	does := func(method string) bool { return slices.Contains(g.from.Methods, method) }
	switch {
	case g.client.KeyFile != "":
		if len(g.from.Methods) > 0 && !does("private_key_jwt") {
			return nil, fmt.Errorf("the issuer takes no private_key_jwt; it takes %s", excerpt(strings.Join(g.from.Methods, ", ")))
		}
		proof, err := g.proof(time.Now())
		if err != nil {
			return nil, err
		}
		g.secrets.learn(proof)
		c.AuthStyle = oauth2.AuthStyleInParams
		c.EndpointParams.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		c.EndpointParams.Set("client_assertion", proof)
		return c, nil
	case len(g.from.Methods) == 0 || does("client_secret_basic"): // the default of RFC 8414
		c.AuthStyle = oauth2.AuthStyleInHeader
	case does("client_secret_post"):
		c.AuthStyle = oauth2.AuthStyleInParams
	default:
		return nil, fmt.Errorf("the issuer takes no client secret; it takes %s", excerpt(strings.Join(g.from.Methods, ", ")))
	}
	c.ClientSecret = g.client.ClientSecret
	return c, nil
}

// failure says why there is no token. What may pass by itself is no mismatch.
func (g *grant) failure(ctx context.Context, err error) *router.CallError {
	message := "no token was obtained: "
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		message += fmt.Sprintf("the issuer answered HTTP status %d", refused.Response.StatusCode)
		if refused.ErrorCode != "" {
			message += ": " + excerpt(strings.TrimSpace(refused.ErrorCode+" "+refused.ErrorDescription))
		}
		e := notSent(router.AuthMismatch, message, nil)
		if status := refused.Response.StatusCode; status >= 500 || status == http.StatusTooManyRequests {
			e.Code = router.Transport
			e.RetryAfter, _ = retryAfter(refused.Response.Header)
		}
		return e
	}
	_, unreached := errors.AsType[*url.Error](err)
	_, down := errors.AsType[outage](err)
	code := router.AuthMismatch
	if unreached || down || ctx.Err() != nil {
		code = router.Transport
	}
	return notSent(code, message+excerpt(bare(err).Error()), nil)
}
