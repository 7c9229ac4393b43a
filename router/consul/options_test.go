package consul

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadOptionsSayWhatToWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(dir, "absent")
	for _, c := range []struct {
		name string
		o    Options
		says string
	}{
		{"no address", Options{}, "http://127.0.0.1:8500"},
		{"no scheme", Options{Address: "localhost:8500"}, "http://localhost:8500"},
		{"another scheme", Options{Address: "consul://h:1"}, "neither http"},
		{"no host", Options{Address: "http://"}, "no host"},
		{"no URL", Options{Address: "http://[::1"}, "no URL"},
		{"a password in it", Options{Address: "http://u:s3cret@h:8500"}, "ACL token"},
		{"a query", Options{Address: "http://h:8500?token=s3cret"}, "remove it"},
		{"no socket", Options{Address: "unix://"}, "unix:///run/consul.sock"},
		{"TLS without https", Options{Address: "http://h:8500", CAFile: empty}, "https"},
		{"no such CA", Options{Address: "https://h:8500", CAFile: absent}, absent},
		{"no certificate in it", Options{Address: "https://h:8500", CAFile: empty}, "no PEM"},
		{"half a pair", Options{Address: "https://h:8500", CertFile: empty}, "key"},
		{"no pair", Options{Address: "https://h:8500", CertFile: empty, KeyFile: empty}, "load our certificate"},
		{"a line break in the token", Options{Address: "http://h:8500", Token: "s3cret\n"}, "line break"},
		{"no such token", Options{Address: "http://h:8500", TokenFile: absent}, absent},
		{"no token in it", Options{Address: "http://h:8500", TokenFile: empty}, "one line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := New(c.o)
			if err == nil {
				d.Close()
				t.Fatal("taken")
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q does not say %q, or says the password", err, c.says)
			}
		})
	}
}

func TestOnlyTheOptionsSayWhereAndAsWhom(t *testing.T) {
	for name, v := range map[string]string{
		"CONSUL_HTTP_ADDR": "http://evil.example", "CONSUL_HTTP_TOKEN": "stray", "CONSUL_HTTP_SSL": "true",
		"CONSUL_HTTP_TOKEN_FILE": "/absent", "CONSUL_NAMESPACE": "ns1", "CONSUL_HTTP_AUTH": "u:p",
	} {
		t.Setenv(name, v)
	}
	var seen *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("X-Consul-Index", "7")
		w.Header().Set("X-Consul-LastContact", "0")
		w.Write([]byte(`{}`))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	for _, c := range []struct {
		name, want string
		o          Options
		write      string
	}{
		{"no token", "", Options{}, ""},
		{"a token", "mine", Options{Token: "mine"}, ""},
		{"a file", "first", Options{Token: "mine", TokenFile: file}, "first\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.write != "" {
				os.WriteFile(file, []byte(c.write), 0o600)
			}
			c.o.Address, c.o.Datacenter = s.URL+"/prefix", "dc2"
			r, err := newReader(c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.door.CloseIdleConnections()
			client, err := r.door.client(c.o.Datacenter)
			if err != nil {
				t.Fatal(err)
			}
			check := func(by, want string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", by, err)
				}
				q := seen.URL.Query()
				if got := seen.Header.Get("X-Consul-Token"); got != want || seen.Header.Get("Authorization") != "" ||
					seen.URL.Path != "/prefix/v1/catalog/services" || q.Has("ns") || q.Get("dc") != "dc2" {
					t.Errorf("%s asked %s with token %q, want %q", by, seen.URL, got, want)
				}
			}
			_, _, err = client.Catalog().Services(nil)
			check("the library", c.want, err)
			_, err = r.ask(t.Context(), question{path: "catalog/services"})
			check("a reader", c.want, err)
			if c.write != "" {
				os.WriteFile(file, []byte("replaced"), 0o600)
				_, err = r.ask(t.Context(), question{path: "catalog/services"})
				check("a reader, after the file changed,", "replaced", err)
			}
		})
	}
}

func TestTLSIsCheckedAndSaidWhereItFails(t *testing.T) {
	t.Parallel()
	consul := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Consul-Index", "7")
		w.Write([]byte(`{}`))
	})
	secure, plain := httptest.NewUnstartedServer(consul), httptest.NewServer(consul)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	secure.StartTLS()
	defer secure.Close()
	defer plain.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    Options
		says string // "": it is trusted
	}{
		{"who signed it", Options{Address: secure.URL, CAFile: ca}, ""},
		{"and its name", Options{Address: secure.URL, CAFile: ca, ServerName: "example.com"}, ""},
		{"another name", Options{Address: secure.URL, CAFile: ca, ServerName: "consul.invalid"}, "not trusted"},
		{"nobody known", Options{Address: secure.URL}, "not trusted"},
		{"https to http", Options{Address: "https" + strings.TrimPrefix(plain.URL, "http")}, "write http://"},
		{"http to https", Options{Address: "http" + strings.TrimPrefix(secure.URL, "https")}, "does it want https?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := New(c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			err = d.Refresh(t.Context())
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
}

func TestASocketIsAnAddress(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Consul-Index", "7")
		w.Write([]byte(`{}`))
	}))
	s.Listener.Close()
	var listen net.ListenConfig
	var err error
	if s.Listener, err = listen.Listen(t.Context(), "unix", path); err != nil {
		t.Skipf("no sockets here: %v", err)
	}
	s.Start()
	defer s.Close()
	d, err := New(Options{Address: "unix://" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Refresh(t.Context()); err != nil || d.Snapshot().Stale {
		t.Errorf("%v", err)
	}
}
