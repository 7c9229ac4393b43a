package diagnose_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/diagnose"
)

// guarded answers who shows what takes accepts, and challenges everybody else. It
// repeats what it was shown when it refuses.
func guarded(challenge string, accepts func(h http.Header) bool) *scripted {
	return &scripted{first: func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") || accepts(r.Header) {
			return false
		}
		if challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "not %s%s", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		return true
	}}
}

func never(http.Header) bool { return false }

// jwt is a token that says it expires at a time; nobody signed it.
func jwt(expires time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part(fmt.Appendf(nil, `{"exp":%d}`, expires.Unix())) + "." + part([]byte("hunter-signature"))
}

func TestCredentialsThatDoNotServeAreTheAuthentications(t *testing.T) {
	t.Parallel()
	bearer := router.Credential{Scheme: "bearer", Token: "hunter-token"}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(jwt(time.Now().Add(-3*time.Hour))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		challenge string
		accepts   func(http.Header) bool
		auth      []router.Credential
		headers   map[string]string
		says      []string
	}{
		{"none held", `Bearer realm="x"`, never, nil, nil,
			[]string{"asks for Bearer (HTTP 401), and no credential is held", "mcpServers:\n  tested:\n    auth:\n      - {scheme: bearer, token: \"${TESTED_BEARER}\"}"}},
		{"unknown scheme", "Hawk", never, nil, nil, []string{"asks for Hawk", "the scheme Hawk is not negotiated here", `Authorization: "Hawk ${TESTED_CREDENTIAL}"`}},
		{"another scheme", "api-key", never, []router.Credential{bearer}, nil, []string{"takes api-key, and what is held is bearer (under auth)", "{scheme: api-key"}},
		{"basic", "Basic", never, []router.Credential{bearer}, nil, []string{"takes Basic", "NAME:PASSWORD"}},
		{"refused", "Bearer", never, []router.Credential{bearer}, nil, []string{"refuses what it was shown (bearer (under auth))", "get a new one"}},
		{"refused, without a word", "", never, nil, map[string]string{"X-Api-Key": "hunter-key"}, []string{"without saying of which scheme", "api-key (under headers)"}},
		{"expired", "Bearer", never, []router.Credential{{Scheme: "bearer", File: file}}, nil, []string{"the bearer token under auth expired 3 hours ago"}},
		{"letter case of the server", "bearer", func(h http.Header) bool { return h.Get("Authorization") == "bearer hunter-token" }, []router.Credential{bearer}, nil,
			[]string{"letter case: it takes the token as bearer, and refuses it as Bearer", `headers: {Authorization: "bearer ${TESTED_TOKEN}"}`}},
		{"letter case of the file", "Bearer", func(h http.Header) bool { return h.Get("Authorization") == "Bearer hunter-token" }, nil, map[string]string{"Authorization": "bearer hunter-token"},
			[]string{"letter case: it takes the token as Bearer, and refuses it as bearer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := at(serve(t, guarded(tt.challenge, tt.accepts)))
			s.Dial.Auth, s.Dial.Headers = tt.auth, tt.headers
			r := diagnosed(t, s, nil)
			blames(t, r, diagnose.Authentication, tt.says...)
			has(t, r, "pprfrrr")
			if text := shown(r); strings.Contains(text, "hunter") || strings.Contains(text, base64.RawURLEncoding.EncodeToString([]byte("hunter-signature"))) {
				t.Errorf("a credential is shown:\n%s", text)
			}
		})
	}
}

func TestWhoIssuesTokensIsFoundInTheMetadata(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":["https://auth.example"],"scopes_supported":["review"]}`, r.Host)
	})
	mux.Handle("/mcp", guarded("Bearer", never))
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	r := diagnosed(t, at(ts.URL+"/mcp"), nil)
	blames(t, r, diagnose.Authentication, "https://auth.example, which issues its tokens", "scopes: [review]", "scheme: oauth")
}

func TestAServerThatRefusesTheHostIsToldApart(t *testing.T) {
	t.Parallel()
	r := diagnosed(t, at(serve(t, answering(403, "text/plain", "Invalid Host header"))), nil)
	blames(t, r, diagnose.Authentication, "asks for no credential", "Invalid Host header")
}

func TestACredentialThatIsTakenPasses(t *testing.T) {
	t.Parallel()
	s := at(serve(t, guarded("Bearer, api-key", func(h http.Header) bool { return h.Get("X-Api-Key") == "hunter-key" })))
	s.Dial.Auth = []router.Credential{{Scheme: "API-Key", Token: "hunter-key"}}
	r := diagnosed(t, s, nil)
	has(t, r, "ppppppm")
	if l := r.Layer(diagnose.Authentication); l.Saw != "asks for Bearer, api-key; api-key is shown, and taken" {
		t.Error(l.Saw)
	}
}

func TestATokenThatEndsSoonIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := at(serve(t, guarded("Bearer", func(h http.Header) bool { return h.Get("Authorization") != "" })))
	s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: jwt(time.Now().Add(5*time.Hour + time.Minute))}}
	r := diagnosed(t, s, nil)
	if l := r.Layer(diagnose.Authentication); l.Status != diagnose.Warned || !strings.Contains(l.Troubles[0].Cause, "expires in 5 hours") {
		t.Error(shown(r))
	}
}

func TestASecretInTheURLIsNotShown(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Handler{&scripted{}, http.NotFoundHandler(), guarded("Basic", never)} {
		url := strings.Replace(serve(t, h), "http://", "http://me:hunter-pass@", 1) + "?key=hunter-query"
		if text := shown(diagnosed(t, at(url), nil)); strings.Contains(text, "hunter") {
			t.Error(text)
		}
	}
}
