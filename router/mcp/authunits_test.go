package mcp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"junction/router"
)

func TestTokensAreAskedForOverTLSOrOnThisMachineOnly(t *testing.T) {
	origin := func(raw string) *url.URL {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for raw, says := range map[string]string{
		"https://auth.example/x":         "",
		"https://AUTH.example:443/x":     "",
		"https://auth.example:8443/x":    "another origin",
		"https://auth.example.evil/x":    "another origin",
		"https://auth.example@evil/x":    "not a plain URL",
		"https://user@auth.example/x":    "not a plain URL",
		"https://auth.example/x#y":       "not a plain URL",
		"http://auth.example/x":          "not https",
		"ftp://auth.example/x":           "not https",
		"//auth.example/x":               "not https",
		"http://127.0.0.1:8080/x":        "",
		"http://localhost:8080/x":        "another origin",
		"http://127.0.0.1:8081/x":        "another origin",
		"http://127.0.0.1.evil:8080/x":   "not https",
		"http://169.254.169.254/x":       "link-local",
		"https://[fe80::1]/x":            "link-local",
		"https://[::ffff:169.254.0.1]/x": "link-local",
		"https://[::1]/x":                "another origin",
	} {
		err := trusted(origin(raw), origin("https://auth.example"), origin("http://127.0.0.1:8080"))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", raw, err, says)
		}
	}
}

func TestWellKnownPlacesComeBeforeThePathAndForOpenIDAfterIt(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h":      "https://h/.well-known/as https://h/.well-known/oid",
		"https://h/":     "https://h/.well-known/as https://h/.well-known/oid",
		"https://h/a/b/": "https://h/.well-known/as/a/b https://h/.well-known/oid/a/b https://h/a/b/.well-known/oid",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(wellKnown(u, "as", "oid"), " "); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	u := &url.URL{Scheme: "https", Host: "h", Path: "/mcp"}
	if got := strings.Join(wellKnown(u, "rs", ""), " "); got != "https://h/.well-known/rs/mcp https://h/.well-known/rs" {
		t.Error(got)
	}
}

func TestAKeyIsReadInTheFormsThatToolsWrite(t *testing.T) {
	p256, p384 := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P384())
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key crypto.PrivateKey) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for name, c := range map[string]struct {
		kind string
		der  []byte
		alg  string // "": refused
	}{
		"EC":                  {"PRIVATE KEY", pkcs8(p256), "ES256"},
		"EC, the older form":  {"EC PRIVATE KEY", sec1, "ES256"},
		"RSA":                 {"PRIVATE KEY", pkcs8(rs), "RS256"},
		"RSA, the older form": {"RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rs), "RS256"},
		"another curve":       {"PRIVATE KEY", pkcs8(p384), ""},
		"another kind":        {"PRIVATE KEY", pkcs8(ed), ""},
		"no key":              {"CERTIFICATE", []byte("x"), ""},
	} {
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: c.kind, Bytes: c.der}), 0o600); err != nil {
			t.Fatal(err)
		}
		g := &grant{client: &router.OAuthClient{ClientID: "a", KeyFile: file}, from: &issuerData{Issuer: "https://auth.example"}}
		proof, err := g.proof(time.Now())
		if (err == nil) != (c.alg != "") {
			t.Errorf("%s: %v", name, err)
		}
		if c.alg == "" {
			continue
		}
		if strings.Count(proof, ".") != 2 {
			t.Errorf("%s: no signed token", name)
		}
		g.from.Signings = []string{"PS512"}
		if _, err := g.proof(time.Now()); err == nil || !strings.Contains(err.Error(), c.alg) || !strings.Contains(err.Error(), "PS512") {
			t.Errorf("%s for an issuer that takes other signatures: %v", name, err)
		}
	}
}

func ecKey(t *testing.T, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAnyChangeOfACredentialMakesAnotherDial(t *testing.T) {
	one := func() *router.Dial {
		return &router.Dial{URL: "https://h", Auth: []router.Credential{{Scheme: "oauth", OAuth: &router.OAuthClient{
			Issuer: "i", ClientID: "c", ClientSecret: "s", KeyFile: "k", Scopes: []string{"a"},
		}}}}
	}
	if !sameDial(one(), one()) {
		t.Error("the same is another")
	}
	for name, change := range map[string]func(c *router.Credential){
		"scheme": func(c *router.Credential) { c.Scheme = "bearer" },
		"header": func(c *router.Credential) { c.Header = "X" },
		"token":  func(c *router.Credential) { c.Token = "x" },
		"file":   func(c *router.Credential) { c.File = "x" },
		"none":   func(c *router.Credential) { c.OAuth = nil },
		"issuer": func(c *router.Credential) { c.OAuth.Issuer = "x" },
		"client": func(c *router.Credential) { c.OAuth.ClientID = "x" },
		"secret": func(c *router.Credential) { c.OAuth.ClientSecret = "x" },
		"key":    func(c *router.Credential) { c.OAuth.KeyFile = "x" },
		"scopes": func(c *router.Credential) { c.OAuth.Scopes = []string{"a", "b"} },
	} {
		d := one()
		change(&d.Auth[0])
		if sameDial(d, one()) || sameDial(one(), d) {
			t.Errorf("another %s is the same", name)
		}
	}
	d := one()
	d.Auth = nil
	if sameDial(d, one()) {
		t.Error("no credential is the same")
	}
}
