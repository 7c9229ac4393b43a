package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// guarded is a server with one tool that takes tokens of its own issuer only, and
// repeats what it is shown when it refuses.
type guarded struct {
	schemes string // that it says it takes
	tokens  atomic.Int32
	calls   atomic.Int32
}

// ServeHTTP implements http.Handler.
func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		fmt.Fprintf(w, `{"issuer":"http://%s","token_endpoint":"http://%s/token"}`, r.Host, r.Host)
		return
	case "/token":
		id, secret, _ := r.BasicAuth()
		if id != "junction" || secret != "hunter-secret" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not %s"}`, secret)
			return
		}
		fmt.Fprintf(w, `{"access_token":"hunter-token-%d","token_type":"Bearer","expires_in":3600}`, g.tokens.Add(1))
		return
	}
	if g.schemes != "Bearer" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer hunter-token-") {
		w.Header().Set("WWW-Authenticate", g.schemes)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"%s%s is not enough"}`, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		return
	}
	var m rpc
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result := ""
	switch m.Method {
	case "server/discover":
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "tools/list":
		result = `{"tools":[{"name":"build","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		g.calls.Add(1)
		result = `{"content":[],"structuredContent":{"artifact":"built"}}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// TestNoCredentialIsInWhatTheProgramPrintsOrKeeps runs a workflow over a server that
// wants a token and one whose scheme is not held, and searches everything.
func TestNoCredentialIsInWhatTheProgramPrintsOrKeeps(t *testing.T) {
	t.Parallel()
	open, shut := &guarded{schemes: "Bearer"}, &guarded{schemes: "DPoP"}
	var urls []string
	for _, g := range []*guarded{open, shut} {
		web := httptest.NewServer(g)
		t.Cleanup(web.Close)
		urls = append(urls, web.URL)
	}
	const offers = "    offers:\n      - {capability: build, tool: build, effect: unsafe}\n"
	config := "mcpServers:\n" +
		"  open:\n    url: " + urls[0] + "/mcp\n    auth:\n      - {scheme: api-key, token: hunter-key}\n" +
		"      - scheme: oauth\n        oauth: {issuer: \"" + urls[0] + "\", client_id: junction, client_secret: SECRET}\n" + offers +
		"  shut:\n    url: " + urls[1] + "/mcp\n    auth: [{scheme: api-key, token_file: key}]\n" + offers
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"build.yaml": buildWorkflow, "key": "hunter-file\n",
		"junction.yaml": strings.Replace(config, "SECRET", "hunter-secret", 1),
	})
	var said strings.Builder
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := junctionIn(t, dir, args...)
		fmt.Fprintf(&said, "$ junction %s\n%s%s", strings.Join(args, " "), out, errs)
		if want >= 0 && code != want {
			t.Errorf("junction %s: exit %d: %s%s", strings.Join(args, " "), code, out, errs)
		}
		return out + errs
	}
	run(0, "run", "build.yaml", "--thread", "t", "--json")
	if open.calls.Load() != 1 || shut.calls.Load() != 0 {
		t.Errorf("%d and %d calls", open.calls.Load(), shut.calls.Load())
	}
	if out := run(-1, "servers", "--config", "junction.yaml"); !strings.Contains(out, "MCP_AUTH_MISMATCH") || !strings.Contains(out, "it takes DPoP") {
		t.Errorf("servers: %s", out)
	}
	run(-1, "servers", "--config", "junction.yaml", "--json")
	for _, args := range [][]string{{"threads"}, {"history", "t"}, {"history", "t", "--json"}, {"explain", "t"}} {
		run(0, args...)
	}
	// A secret that is wrong is refused by the issuer, which repeats it.
	writeFiles(t, dir, map[string]string{"junction.yaml": strings.Replace(config, "SECRET", "hunter-wrong", 1)})
	if out := run(1, "run", "build.yaml", "--thread", "u", "--json"); !strings.Contains(out, "invalid_client") {
		t.Errorf("run: %s", out)
	}
	run(-1, "explain", "u")

	stores := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "key" || d.Name() == "junction.yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "hunter") {
			t.Errorf("a credential is kept in %s", path)
		}
		if strings.HasSuffix(path, ".db") && len(data) > 0 {
			stores++
		}
		return err
	})
	if err != nil || stores == 0 {
		t.Errorf("%d stores: %v", stores, err)
	}
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "hunter") {
			t.Errorf("a credential is printed: %s", line)
		}
	}
}
