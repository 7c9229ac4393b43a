package mcp_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
)

// issuing is an authorization server.
type issuing struct {
	url      string
	metadata string // document; $ISSUER is its URL
	at       string // path of the document
	answer   string // of the token endpoint; $TOKEN is a new one. "": a plain one
	check    func(r *http.Request) bool

	mu     sync.Mutex
	asked  int
	status int // of the token endpoint; 0: 200
	good   map[string]string
	scopes []string // asked for, by request
	gate   chan struct{}
}

const plainMetadata = `{"issuer":"$ISSUER","token_endpoint":"$ISSUER/token","grant_types_supported":["client_credentials"]}`

func newIssuing(t *testing.T) *issuing {
	t.Helper()
	i := &issuing{metadata: plainMetadata, at: "/.well-known/oauth-authorization-server", good: map[string]string{}}
	ts := httptest.NewServer(i)
	t.Cleanup(ts.Close)
	i.url = ts.URL
	return i
}

func (i *issuing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == i.at {
		w.Header().Set("Content-Type", "application/json")
		// A clock that is wrong by three minutes.
		w.Header().Set("Date", time.Now().Add(-3*time.Minute).UTC().Format(http.TimeFormat))
		fmt.Fprint(w, strings.ReplaceAll(i.metadata, "$ISSUER", i.url))
		return
	}
	if r.URL.Path != "/token" {
		http.NotFound(w, r)
		return
	}
	r.ParseForm()
	i.mu.Lock()
	i.asked++
	n, code, gate := i.asked, i.status, i.gate
	i.scopes = append(i.scopes, r.PostForm.Get("scope"))
	i.mu.Unlock()
	if gate != nil {
		<-gate
	}
	w.Header().Set("Content-Type", "application/json")
	id, secret, _ := r.BasicAuth()
	right := id == "junction" && secret == "hunter2%2Fhunter2"
	if i.check != nil {
		right = i.check(r)
	}
	switch {
	case code != 0:
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":"invalid_scope","error_description":"not for %s"}`, secret)
		return
	case !right || r.PostForm.Get("grant_type") != "client_credentials":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s %s"}`, r.Header.Get("Authorization"), r.PostForm.Get("client_secret"))
		return
	}
	token := fmt.Sprintf("hunter-token-%d", n)
	i.mu.Lock()
	i.good["Bearer "+token] = r.PostForm.Get("scope")
	i.mu.Unlock()
	text := i.answer
	if text == "" {
		text = `{"access_token":"$TOKEN","token_type":"bearer","expires_in":3600}`
	}
	fmt.Fprint(w, strings.ReplaceAll(text, "$TOKEN", token))
}

// honours reports whether a request carries a token that was issued and not revoked.
func (i *issuing) honours(h http.Header) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, ok := i.good[h.Get("Authorization")]
	return ok
}

func (i *issuing) revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.good)
}

// down makes the token endpoint answer with a status; 0: as ever.
func (i *issuing) down(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

func (i *issuing) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

const ourSecret = "hunter2/hunter2"

func ourClient(issuer string) []router.Credential {
	return []router.Credential{{Scheme: "oauth", OAuth: &router.OAuthClient{Issuer: issuer, ClientID: "junction", ClientSecret: ourSecret}}}
}

// about is protected-resource metadata that names an issuer.
func about(issuer string) string {
	return `{"resource":"$HOST/mcp","authorization_servers":["` + issuer + `"],"scopes_supported":["read"]}`
}

// keyFile writes a private key.
func keyFile(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
