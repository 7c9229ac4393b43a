package mcp_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"junction/router"
)

// An instance that a registry names by address, and whose certificate the operator
// holds to a name, is its own issuer: its tokens are asked for under that very
// certificate, and whoever shows another gets no secret.
func TestTokensOfAServersOwnOriginAreAskedForUnderItsCertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for name, c := range map[string]struct {
		certificate string
		served      bool
	}{"the right name": {"reviewer.internal", true}, "another": {"other.internal", false}} {
		i := newIssuing(t)
		g, s := newGate(t, true, i.honours, "WWW-Authenticate", "Bearer")
		der, key := a.sign(&x509.Certificate{
			SerialNumber: big.NewInt(3), DNSNames: []string{c.certificate},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}, a.cert)
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == i.at || r.URL.Path == "/token" {
				i.ServeHTTP(w, r)
				return
			}
			g.ServeHTTP(w, r)
		}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		i.url = srv.URL
		g.documents["/.well-known/oauth-protected-resource/mcp"] = `{"resource":"` + srv.URL + `/mcp","authorization_servers":["` + srv.URL + `"]}`
		s.Dial.URL, s.Dial.ServerName, s.Dial.CAFile = srv.URL+"/mcp", "reviewer.internal", a.file
		s.Dial.Auth = ourClient("")
		err := newSilent(t, "hunter").try(t.Context(), s)
		if c.served {
			if _, tools := g.counted(); err != nil || tools != 1 || i.requests() != 1 {
				t.Errorf("%s: %v, %d calls, %d tokens", name, err, tools, i.requests())
			}
		} else if e := callError(t, err); e.Code != router.Transport || i.requests() > 0 {
			t.Errorf("%s: %s, %d token requests", name, e.Code, i.requests())
		}
	}
}
