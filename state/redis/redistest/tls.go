package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files are PEM files of an authority made for one test.
type Files struct {
	CA        string
	Cert, Key string // for 127.0.0.1 and the name "redis.test", of servers and clients
}

// Certify makes an authority and a certificate signed by it.
func Certify(t testing.TB) Files {
	t.Helper()
	dir := t.TempDir()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "redis.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"redis.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	caKey, leafKey := newKey(t), newKey(t)
	caDER := sign(t, authority, authority, caKey, caKey)
	leafDER := sign(t, leaf, authority, leafKey, caKey)
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	return Files{
		CA:   writePEM(t, dir, "ca.pem", "CERTIFICATE", caDER),
		Cert: writePEM(t, dir, "cert.pem", "CERTIFICATE", leafDER),
		Key:  writePEM(t, dir, "key.pem", "PRIVATE KEY", keyDER),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, c, by *x509.Certificate, key, with *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, with)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// StartTLS is [Start] for a server that speaks nothing but TLS. Clients need no
// certificate unless the settings say tls-auth-clients yes.
func StartTLS(t testing.TB, files Files, settings ...string) *Server {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	ca, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	config.RootCAs.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	args := append(plainArgs(t.TempDir()), "--port", "0",
		"--tls-cert-file", files.Cert, "--tls-key-file", files.Key, "--tls-ca-cert-file", files.CA, "--tls-auth-clients", "no")
	more, err := pairs(settings)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{program: binary(t), ready: serves, args: append(args, more...), tls: config}
	if err := n.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &Server{t, n}
	t.Cleanup(func() { endNode(t, n) })
	return s
}
