package mcp_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"junction/router"
	"junction/state"
)

func TestATokenIsObtainedFromTheIssuerAndShownToTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		set       func(g *gate, i *issuing)
		challenge string
		named     bool   // by the operator
		resource  string // that the token is for, after the server's origin; "": /mcp
	}{
		"issuer in the configuration": {func(*gate, *issuing) {}, "Bearer", true, ""},
		"issuer in the server's metadata": {func(g *gate, i *issuing) {
			g.documents["/.well-known/oauth-protected-resource/mcp"] = about(i.url)
		}, "Bearer", false, ""},
		"metadata of the whole origin": {func(g *gate, i *issuing) {
			g.documents["/.well-known/oauth-protected-resource"] = strings.Replace(about(i.url), "/mcp", "/", 1)
		}, "Bearer", false, "/"},
		"metadata where the challenge says": {func(g *gate, i *issuing) {
			g.documents["/meta"] = about(i.url)
			g.refusal = []string{"WWW-Authenticate", "Bearer resource_metadata=\"" + g.url + "/meta\""}
		}, "", false, ""},
		"a server that says nothing but has metadata": {func(g *gate, i *issuing) {
			g.documents["/.well-known/oauth-protected-resource/mcp"] = about(i.url)
			g.refusal = nil
		}, "", false, ""},
		"metadata of OpenID": {func(_ *gate, i *issuing) { i.at = "/.well-known/openid-configuration" }, "Bearer", true, ""},
		"the secret in the form": {func(_ *gate, i *issuing) {
			i.metadata = strings.Replace(plainMetadata, `{`, `{"token_endpoint_auth_methods_supported":["client_secret_post"],`, 1)
			i.check = func(r *http.Request) bool {
				return r.Header.Get("Authorization") == "" && r.PostForm.Get("client_id") == "junction" && r.PostForm.Get("client_secret") == ourSecret
			}
		}, "Bearer", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			g, s := newGate(t, false, i.honours, "WWW-Authenticate", c.challenge)
			g.url = strings.TrimSuffix(s.Dial.URL, "/mcp")
			c.set(g, i)
			resource := ""
			right := i.check
			i.check = func(r *http.Request) bool {
				resource = r.PostForm.Get("resource")
				if right != nil {
					return right(r)
				}
				id, secret, _ := r.BasicAuth()
				return id == "junction" && secret == "hunter2%2Fhunter2" && !strings.Contains(r.PostForm.Encode(), "hunter")
			}
			issuer := ""
			if c.named {
				issuer = i.url
			}
			s.Dial.Auth = ourClient(issuer)
			cl := newSilent(t, "hunter2", "hunter-token")
			if err := cl.try(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			requests, tools := g.counted()
			if requests != plainRequests(false)+1 || tools != 1 || i.requests() != 1 || resource != g.url+cmp.Or(c.resource, "/mcp") {
				t.Errorf("%d requests, %d calls, %d tokens for %s", requests, tools, i.requests(), resource)
			}
			if d := cl.describe(t, s); d.Session.Scheme != "oauth" {
				t.Errorf("the session's scheme is %q", d.Session.Scheme)
			}
			for _, shown := range []string{"Basic", ourSecret} {
				for v := range g.shown["Authorization"] {
					if strings.Contains(v, shown) {
						t.Errorf("the server was shown %s", v)
					}
				}
			}
		})
	}
}

func TestAKeyProvesTheClientOnTheIssuersClock(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for alg, c := range map[string]struct{ private, public any }{"ES256": {ec, ec.Public()}, "RS256": {rs, rs.Public()}} {
		i := newIssuing(t)
		i.metadata = strings.Replace(plainMetadata, `{`, `{"token_endpoint_auth_methods_supported":["private_key_jwt"],`, 1)
		i.check = func(r *http.Request) bool {
			if r.PostForm.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
				return false
			}
			claims := jwt.RegisteredClaims{}
			_, err := jwt.ParseWithClaims(r.PostForm.Get("client_assertion"), &claims, func(*jwt.Token) (any, error) { return c.public, nil },
				jwt.WithValidMethods([]string{alg}), jwt.WithAudience(i.url), jwt.WithIssuer("junction"), jwt.WithSubject("junction"),
				jwt.WithIssuedAt(), jwt.WithExpirationRequired(),
				jwt.WithTimeFunc(func() time.Time { return time.Now().Add(-3 * time.Minute) }))
			if err != nil || claims.ID == "" {
				t.Errorf("%s: %v", alg, err)
			}
			return err == nil
		}
		g, s := newGate(t, true, i.honours, "WWW-Authenticate", "Bearer")
		s.Dial.Auth = []router.Credential{{Scheme: "oauth", OAuth: &router.OAuthClient{Issuer: i.url, ClientID: "junction", KeyFile: keyFile(t, c.private)}}}
		if err := newSilent(t, "hunter-token").try(t.Context(), s); err != nil {
			t.Error(alg, err)
		}
		if _, tools := g.counted(); tools != 1 {
			t.Errorf("%s: %d calls", alg, tools)
		}
	}
}

func TestATokenIsNotAskedForWhereItsIssuerIsNotSureToBeTheRightOne(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(g *gate, i *issuing)
		named bool
		says  string
	}{
		"metadata at another host": {func(g *gate, i *issuing) {
			g.refusal = []string{"WWW-Authenticate", `Bearer resource_metadata="https://evil.example/meta"`}
		}, false, "another origin"},
		"metadata at a link-local address": {func(g *gate, i *issuing) {
			g.refusal = []string{"WWW-Authenticate", `Bearer resource_metadata="http://169.254.169.254/latest"`}
		}, false, "link-local"},
		"metadata about another server": {func(g *gate, i *issuing) {
			g.documents["/.well-known/oauth-protected-resource/mcp"] = strings.Replace(about(i.url), "$HOST", "https://other.example", 1)
		}, false, "not this server"},
		"metadata about a path beside": {func(g *gate, i *issuing) {
			g.documents["/.well-known/oauth-protected-resource/mcp"] = strings.Replace(about(i.url), "/mcp", "/mc", 1)
		}, false, "not this server"},
		"an issuer of the server's choice elsewhere": {func(g *gate, i *issuing) {
			g.documents["/.well-known/oauth-protected-resource/mcp"] = about("https://evil.example")
		}, false, "say it (issuer)"},
		"no issuer named": {func(g *gate, i *issuing) {}, false, "there is none"},
		"metadata of another issuer": {func(g *gate, i *issuing) {
			i.metadata = strings.Replace(plainMetadata, `"$ISSUER"`, `"$ISSUER/"`, 1)
		}, true, "names another issuer"},
		"tokens from another host": {func(g *gate, i *issuing) {
			i.metadata = `{"issuer":"$ISSUER","token_endpoint":"https://evil.example/token"}`
		}, true, "another origin"},
		"tokens from a link-local address": {func(g *gate, i *issuing) {
			i.metadata = `{"issuer":"$ISSUER","token_endpoint":"http://169.254.169.254/token"}`
		}, true, "link-local"},
		"no token endpoint": {func(g *gate, i *issuing) { i.metadata = `{"issuer":"$ISSUER"}` }, true, "no token endpoint"},
		"too long a document": {func(g *gate, i *issuing) {
			i.metadata = `{"issuer":"$ISSUER","x":"` + strings.Repeat("x", 1<<20) + `"}`
		}, true, "larger than allowed"},
		"no JSON": {func(g *gate, i *issuing) { i.metadata = `<html>` }, true, "no JSON"},
		"no such grant": {func(g *gate, i *issuing) {
			i.metadata = strings.Replace(plainMetadata, "client_credentials", "implicit", 1)
		}, true, "grants nothing"},
		"no such method": {func(g *gate, i *issuing) {
			i.metadata = strings.Replace(plainMetadata, `{`, `{"token_endpoint_auth_methods_supported":["private_key_jwt"],`, 1)
		}, true, "takes no client secret"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			g, s := newGate(t, true, i.honours, "WWW-Authenticate", "Bearer")
			c.set(g, i)
			issuer := ""
			if c.named {
				issuer = i.url
			}
			s.Dial.Auth = ourClient(issuer)
			e := callError(t, newSilent(t, "hunter").try(t.Context(), s))
			if e.Code != router.AuthMismatch || e.Execution != state.NotExecuted || !strings.Contains(e.Message, c.says) {
				t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
			}
			if _, tools := g.counted(); tools > 0 || i.requests() > 0 {
				t.Errorf("%d calls, %d token requests", tools, i.requests())
			}
		})
	}
}

func TestARefusalOfTheIssuerIsToldWithoutItsSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(i *issuing)
		code router.Code
		says string
	}{
		"wrong secret":        {func(i *issuing) { i.check = func(*http.Request) bool { return false } }, router.AuthMismatch, "invalid_client"},
		"down":                {func(i *issuing) { i.status = 503 }, router.Transport, "HTTP status 503"},
		"another type":        {func(i *issuing) { i.answer = `{"access_token":"$TOKEN","token_type":"DPoP"}` }, router.AuthMismatch, "DPoP"},
		"a token of controls": {func(i *issuing) { i.answer = `{"access_token":"a\r\nX: b","token_type":"Bearer"}` }, router.AuthMismatch, "control characters"},
		"no token":            {func(i *issuing) { i.answer = `{}` }, router.AuthMismatch, "access_token"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			c.set(i)
			g, s := newGate(t, true, i.honours, "WWW-Authenticate", "Bearer")
			s.Dial.Auth = ourClient(i.url)
			cl := newSilent(t, "hunter")
			e := callError(t, cl.try(t.Context(), s))
			if e.Code != c.code || e.Execution != state.NotExecuted || !strings.Contains(e.Message, c.says) {
				t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
			}
			// The handshake of the earlier era would only be refused as the first one was.
			if requests, tools := g.counted(); requests != 1 || tools > 0 || i.requests() != 1 {
				t.Errorf("%d requests, %d calls, %d token requests", requests, tools, i.requests())
			}
		})
	}
}

func TestATokenEndpointThatRedirectsIsNotFollowed(t *testing.T) {
	other := newIssuing(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"issuer":"http://%s","token_endpoint":"http://%s/token"}`, r.Host, r.Host)
			return
		}
		http.Redirect(w, r, other.url+"/token", http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	_, s := newGate(t, true, other.honours, "WWW-Authenticate", "Bearer")
	s.Dial.Auth = ourClient(front.URL)
	if e := callError(t, newSilent(t, "hunter").try(t.Context(), s)); e.Code != router.AuthMismatch || other.requests() > 0 {
		t.Errorf("%s; the other host was asked %d times", e.Code, other.requests())
	}
}
