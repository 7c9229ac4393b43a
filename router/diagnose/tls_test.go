package diagnose_test

import (
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
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"junction/router/diagnose"
)

var silent = log.New(io.Discard, "", 0)

// paper is a certificate to be made.
type paper struct {
	signer   *tls.Certificate // nil: itself
	names    []string
	from, to time.Duration // from now
	isCA     bool
}

func (p paper) make(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "test " + strings.Join(p.names, " ")},
		NotBefore: now.Add(p.from), NotAfter: now.Add(p.to), DNSNames: p.names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: p.isCA,
	}
	if p.isCA {
		c.KeyUsage |= x509.KeyUsageCertSign
		c.ExtKeyUsage = nil
	} else {
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		if len(p.names) > 0 && p.names[0] != "localhost" {
			c.IPAddresses = nil
		}
	}
	signer, signKey := c, any(key)
	if p.signer != nil {
		signer, signKey = p.signer.Leaf, p.signer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer, &key.PublicKey, signKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

const year = 365 * 24 * time.Hour

// authority signs certificates; its own is in the file.
func authority(t *testing.T) (ca *tls.Certificate, file string) {
	t.Helper()
	ca = paper{from: -time.Hour, to: year, isCA: true, names: []string{"authority"}}.make(t)
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca, file
}

func secured(t *testing.T, h http.Handler, c *tls.Certificate, most uint16) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	ts := httptest.NewUnstartedServer(mux)
	ts.TLS = &tls.Config{Certificates: []tls.Certificate{*c}, MaxVersion: most}
	ts.Config.ErrorLog = silent
	ts.StartTLS()
	t.Cleanup(ts.Close)
	return ts.URL + "/mcp"
}

func TestACertificateThatIsNotGoodIsToldApart(t *testing.T) {
	t.Parallel()
	ca, file := authority(t)
	other, _ := authority(t)
	names := []string{"localhost"}
	for _, tt := range []struct {
		name  string
		paper paper
		says  []string
	}{
		{"signed by itself", paper{names: names, from: -time.Hour, to: year}, []string{"signed by itself", "ca: "}},
		{"expired", paper{signer: ca, names: names, from: -year, to: -73 * time.Hour}, []string{"expired 3 days ago"}},
		{"not yet valid", paper{signer: ca, names: names, from: time.Hour, to: year}, []string{"not valid before", "clocks"}},
		{"for another name", paper{signer: ca, names: []string{"billing.example"}, from: -time.Hour, to: year}, []string{`for billing.example, and not for "127.0.0.1"`, "server_name: billing.example"}},
		{"of another authority", paper{signer: other, names: names, from: -time.Hour, to: year}, []string{"not in the file of its authorities"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler := &scripted{first: func(_ http.ResponseWriter, r *http.Request, _ string) bool {
				if r.Header.Get("X-Api-Key") != "" {
					t.Error("a credential was shown")
				}
				return false
			}}
			s := at(secured(t, handler, tt.paper.make(t), 0))
			s.Dial.CAFile = file
			s.Dial.Headers = map[string]string{"X-Api-Key": "hunter-key"}
			r := diagnosed(t, s, nil)
			blames(t, r, diagnose.Session, tt.says...)
			has(t, r, "ppprfrr")
		})
	}
}

func TestAnUnknownAuthorityIsNamed(t *testing.T) {
	t.Parallel()
	ca, _ := authority(t)
	s := at(secured(t, &scripted{}, paper{signer: ca, names: []string{"localhost"}, from: -time.Hour, to: year}.make(t), 0))
	r := diagnosed(t, s, nil)
	blames(t, r, diagnose.Session, `signed by "CN=test authority"`, "does not know")
	has(t, r, "ppppfrr")
}

func TestAGoodCertificatePasses(t *testing.T) {
	t.Parallel()
	ca, file := authority(t)
	for _, tt := range []struct {
		name   string
		to     time.Duration
		most   uint16
		status diagnose.Status
		says   string
	}{
		{"TLS 1.3", year, 0, diagnose.Passed, ""},
		{"TLS 1.2", year, tls.VersionTLS12, diagnose.Warned, "TLS 1.2 only"},
		{"few days left", 10*24*time.Hour + time.Hour, 0, diagnose.Warned, "expires in 10 days"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := at(secured(t, &scripted{}, paper{signer: ca, names: []string{"localhost"}, from: -time.Hour, to: tt.to}.make(t), tt.most))
			s.Dial.CAFile = file
			r := diagnosed(t, s, nil)
			l := r.Layer(diagnose.Session)
			if l.Status != tt.status || r.Status != tt.status || !strings.Contains(l.Saw, "certificate for localhost") || !strings.Contains(shown(r), tt.says) {
				t.Error(shown(r))
			}
		})
	}
}

func TestATLSThatIsTooOldIsNotSpoken(t *testing.T) {
	t.Parallel()
	ca, file := authority(t)
	mux := http.NewServeMux()
	mux.Handle("/mcp", &scripted{})
	ts := httptest.NewUnstartedServer(mux)
	ts.TLS = &tls.Config{
		Certificates: []tls.Certificate{*paper{signer: ca, names: []string{"localhost"}, from: -time.Hour, to: year}.make(t)},
		MinVersion:   tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	}
	ts.Config.ErrorLog = silent
	ts.StartTLS()
	t.Cleanup(ts.Close)
	s := at(ts.URL + "/mcp")
	s.Dial.CAFile = file
	blames(t, diagnosed(t, s, nil), diagnose.Session, "TLS 1.1")
}

func TestAServerThatWantsAClientsCertificateIsToldApart(t *testing.T) {
	t.Parallel()
	ca, file := authority(t)
	ts := httptest.NewUnstartedServer(&scripted{})
	ts.TLS = &tls.Config{
		Certificates: []tls.Certificate{*paper{signer: ca, names: []string{"localhost"}, from: -time.Hour, to: year}.make(t)},
		ClientAuth:   tls.RequireAnyClientCert,
	}
	ts.Config.ErrorLog = silent
	ts.StartTLS()
	t.Cleanup(ts.Close)
	s := at(ts.URL + "/mcp")
	s.Dial.CAFile = file
	blames(t, diagnosed(t, s, nil), diagnose.Session, "wants a certificate of its client")
}
