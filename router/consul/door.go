package consul

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hashicorp/consul/api"
)

// door is the one way to Consul. Every request through it goes to the address of
// the options and carries their token, whatever variables of the environment a
// client library has read.
type door struct {
	base  *url.URL // http or https; for a socket the host means nothing
	token *token
	next  http.RoundTripper
}

// newDoor reads the TLS files and the token. Errors name the file and what to do.
func newDoor(o Options) (*door, error) {
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, unicode.IsControl) {
		return nil, errors.New("the token of Consul holds a line break or another control character; a file's last line break often gets into a variable")
	}
	secure, err := o.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: o.timeout()}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       secure,
		TLSHandshakeTimeout:   o.timeout(),
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   2 * watchesAtOnce, // a question may begin before the last one's is back
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true, // the agent is near: packing a large answer costs more than it saves
		ExpectContinueTimeout: time.Second,
	}
	d := &door{base: base, token: &token{file: o.TokenFile, last: o.Token}, next: transport}
	if base.Scheme == "unix" {
		path := base.Path
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
		d.base = &url.URL{Scheme: "http", Host: "consul"}
	}
	if _, err := d.token.get(); err != nil {
		return nil, err
	}
	return d, nil
}

// RoundTrip implements [http.RoundTripper].
func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	secret, err := d.token.get()
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = d.base.Scheme, d.base.Host, d.base.Host
	if query := req.URL.Query(); query.Has("ns") || query.Has("partition") {
		query.Del("ns")
		query.Del("partition")
		req.URL.RawQuery = query.Encode()
	}
	req.Header.Del("Authorization")
	req.Header.Del("X-Consul-Token")
	if secret != "" {
		req.Header.Set("X-Consul-Token", secret)
	}
	resp, err := d.next.RoundTrip(req)
	if err != nil || resp.StatusCode < http.StatusMultipleChoices {
		return resp, err
	}
	// A refusal becomes part of an error, whoever asked: it may be of any length,
	// and may repeat the token.
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		text = nil // the status says enough
	}
	resp.Body.Close()
	said := d.token.excerpt(string(text))
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(said)), int64(len(said))
	return resp, nil
}

const maxRefusal = 4 << 10 // bytes

// CloseIdleConnections closes what waits for use.
func (d *door) CloseIdleConnections() {
	if t, ok := d.next.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// http is a client through the door that goes nowhere else.
func (d *door) http() *http.Client {
	return &http.Client{
		Transport:     d,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// client is Consul's own client, through the door.
func (d *door) client(datacenter string) (*api.Client, error) {
	return api.NewClient(&api.Config{
		Address: d.base.Scheme + "://" + d.base.Host, PathPrefix: strings.TrimSuffix(d.base.Path, "/"),
		Datacenter: datacenter, HttpClient: d.http(),
		Token: "-", // keeps the library from looking for one; the door sets it
	})
}

// tls is nil where the system's certificates and none of our own will do.
func (o Options) tls() (*tls.Config, error) {
	if o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" && o.ServerName == "" {
		return nil, nil //nolint:nilnil // the default is a choice
	}
	if !strings.HasPrefix(o.Address, "https:") {
		return nil, fmt.Errorf("consul's TLS is configured and the address %s is not https; write https:// or remove the TLS files", o.shown())
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificates that Consul's is checked with: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no PEM certificate to check Consul's with", o.CAFile)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("a certificate for Consul needs its key, and a key its certificate: name both files")
	}
	if o.CertFile != "" {
		own, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load our certificate %s with key %s for Consul: %w", o.CertFile, o.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// token is the ACL token, which a file may replace at any time.
type token struct {
	file string // "": last never changes

	mu      sync.Mutex
	last    string
	changed time.Time // of the file, when last was read
	size    int64
}

func (t *token) get() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == "" {
		return t.last, nil
	}
	info, err := os.Stat(t.file)
	if err != nil {
		return "", fmt.Errorf("read the file of Consul's token: %w", err)
	}
	if !t.changed.IsZero() && info.ModTime().Equal(t.changed) && info.Size() == t.size {
		return t.last, nil
	}
	text, err := os.ReadFile(t.file)
	if err != nil {
		return "", fmt.Errorf("read the file of Consul's token: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("the file of Consul's token, %s, does not hold one line with a token", t.file)
	}
	t.last, t.changed, t.size = secret, info.ModTime(), info.Size()
	return secret, nil
}

// mask takes the token out of a text.
func (t *token) mask(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == "" {
		return text
	}
	return strings.ReplaceAll(text, t.last, "•••")
}

// excerpt is what Consul says for people: one line of bounded length, without the
// token, which is masked before the text is cut.
func (t *token) excerpt(text string) string {
	const most = 200 // characters
	said := []rune(t.mask(strings.Join(strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) && c != ' ' }), " ")))
	if len(said) > most {
		said = append(said[:most], '…')
	}
	return string(said)
}

// given reports whether there is a token at all.
func (t *token) given() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last != ""
}
