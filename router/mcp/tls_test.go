package mcp_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// authority signs certificates, as that of a company's network does.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its certificate, PEM
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	der, a.key = a.sign(a.cert, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(a.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a certificate with a key of its own, signed by the authority, or by
// itself where there is none yet.
func (a *authority) sign(cert, parent *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	by := a.key
	if parent == nil {
		parent, by = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// certified is an https server on an IP address whose certificate names a host.
type certified struct {
	*scripted
	url      string
	requests atomic.Int32
	asked    atomic.Pointer[string] // the name of the last TLS handshake
	token    atomic.Pointer[string] // the credential of the last request
}

func (a *authority) serve(name string) *certified {
	a.t.Helper()
	s := &certified{scripted: &scripted{call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)}}
	der, key := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		token := r.Header.Get("Authorization")
		s.token.Store(&token)
		s.ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is tested
	srv.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name := hello.ServerName
			s.asked.Store(&name)
			return nil, nil
		},
	}
	srv.StartTLS()
	a.t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// discovered is a server as a registry names it, with headers that its service
// was given.
func discovered(url, name, ca string) *router.Server {
	return &router.Server{ID: "review-1", Name: "review", Source: "consul", Dial: router.Dial{
		URL: url, ServerName: name, CAFile: ca, Headers: map[string]string{"Authorization": "Bearer s3cret-token"},
	}}
}

func TestACertificateIsHeldToTheDeclaredName(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	broken := filepath.Join(t.TempDir(), "broken.pem")
	if err := os.WriteFile(broken, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, c := range []struct{ name, certificate, declared, ca, refusal string }{
		{"the right name, reached by IP", "reviewer.internal", "reviewer.internal", a.file, ""},
		{"another name", "other.internal", "reviewer.internal", a.file, "certificate is valid for other.internal, not reviewer.internal"},
		{"no name declared", "reviewer.internal", "", a.file, "127.0.0.1"},
		{"signed by nobody known", "reviewer.internal", "reviewer.internal", "", "certificate signed by unknown authority"},
		{"no such file", "reviewer.internal", "reviewer.internal", missing, missing},
		{"a file without a certificate", "reviewer.internal", "reviewer.internal", broken, "broken.pem\" holds no certificate in PEM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := a.serve(c.certificate)
			_, err := newClient(t, nil).Call(t.Context(), discovered(s.url, c.declared, c.ca), call("echo", nil))
			if c.refusal == "" {
				if err != nil {
					t.Fatal(err)
				}
				if name, token := *s.asked.Load(), *s.token.Load(); name != c.declared || token != "Bearer s3cret-token" {
					t.Errorf("asked for the name %q with the credential %q", name, token)
				}
				return
			}
			e := callError(t, err)
			if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, c.refusal) {
				t.Errorf("%s, %s: %s\nwant it to say %q", e.Code, e.Execution, e.Message, c.refusal)
			}
			if strings.Contains(e.Message, "s3cret") {
				t.Errorf("the credential is in %q", e.Message)
			}
			if n := s.requests.Load(); n != 0 {
				t.Errorf("%d requests reached it, with their headers", n)
			}
		})
	}
}

func TestANameWithoutTLSIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, declared, ca, want string }{
		{"a name", "reviewer.internal", "", `it has to show a certificate for "reviewer.internal", and its url begins with http://`},
		{"authorities", "", "ca.pem", `it has to show a certificate signed as "ca.pem" says, and its url begins with http://`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			s, _ := raw(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			_, err := newClient(t, nil).Call(t.Context(), discovered(s.Dial.URL, c.declared, c.ca), call("echo", nil))
			e := callError(t, err)
			if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, c.want) {
				t.Errorf("%s, %s: %s\nwant it to say %q", e.Code, e.Execution, e.Message, c.want)
			}
			if requests.Load() != 0 {
				t.Error("a request was sent all the same")
			}
		})
	}
}

// A kept connection was checked for one name; whoever must show another is
// dialled anew.
func TestServersThatMustShowOtherNamesShareNoConnection(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.serve("reviewer.internal")
	right, wrong := discovered(s.url, "reviewer.internal", a.file), discovered(s.url, "other.internal", a.file)
	other := discovered(s.url, "other.internal", a.file)
	other.ID = "review-2"
	c := newClient(t, nil)
	for _, step := range []struct {
		name    string
		server  *router.Server
		refused bool
	}{
		{"the right name", right, false},
		{"another server at the same address", other, true},
		{"the same server, of which another name is said now", wrong, true},
		{"the right name again", right, false},
	} {
		_, err := c.Call(t.Context(), step.server, call("echo", nil))
		if step.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "not other.internal") {
			t.Errorf("%s: %v, want it refused: %v", step.name, err, step.refused)
		}
	}
}

// Authorities that were renewed on disk are used from the next connection on.
func TestAuthoritiesAreReadForEachConnection(t *testing.T) {
	t.Parallel()
	before, after := newAuthority(t), newAuthority(t)
	s := after.serve("reviewer.internal")
	server := discovered(s.url, "reviewer.internal", before.file)
	if _, err := newClient(t, nil).Call(t.Context(), server, call("echo", nil)); err == nil {
		t.Fatal("a certificate of another authority was taken")
	}
	renewed, err := os.ReadFile(after.file)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(before.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(before.file, bytes.Join([][]byte{old, renewed}, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, nil).Call(t.Context(), server, call("echo", nil)); err != nil {
		t.Errorf("after the file was renewed: %v", err)
	}
}

// Whoever registers a service could answer with a redirect to have the headers
// sent to a place of its choice.
func TestADiscoveredServersHeadersFollowNoRedirect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		from string // "handshake" or "tools/call"
		code int
	}{
		{"in the handshake", "handshake", http.StatusTemporaryRedirect},
		{"in the handshake, for good", "handshake", http.StatusPermanentRedirect},
		{"in a call", "tools/call", http.StatusTemporaryRedirect},
		{"in a call, as a GET", "tools/call", http.StatusSeeOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var reached atomic.Int32
			_, thief := raw(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
			redirect := status(c.code, "", "Location", thief.URL+"/mcp")
			honest := &scripted{call: redirect}
			s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.from == "handshake" {
					redirect(w, r, "0")
					return
				}
				honest.ServeHTTP(w, r)
			}))
			_, err := newClient(t, nil).Call(t.Context(), discovered(s.Dial.URL, "", ""), call("echo", nil))
			if err == nil {
				t.Error("the call went through")
			}
			if reached.Load() != 0 {
				t.Error("the other origin was asked")
			}
		})
	}
}
