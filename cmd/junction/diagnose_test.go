package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"junction/cmd/junction/internal/view"
	"junction/router/consul/consultest"
	"junction/router/diagnose"
	"junction/router/diagnose/debug"
)

// diagnoses runs the verb in this process.
func diagnoses(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(append([]string{"diagnose"}, args...), console{in: strings.NewReader(""), out: &out, err: &errs})
	return out.String(), errs.String(), code
}

// reviewed serves a server with one tool, and whoever shows no key is refused where
// one is given.
func reviewed(t *testing.T, tool, key string) *httptest.Server {
	t.Helper()
	s := server.NewMCPServer("reviewed", "1.2.3")
	s.AddTool(mcp.NewTool(tool), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("fine"), nil
	})
	inner := debug.Handler(server.NewStreamableHTTPServer(s))
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if key != "" && r.Header.Get("X-Api-Key") != key {
			w.Header().Set("WWW-Authenticate", "api-key")
			http.Error(w, "not "+r.Header.Get("X-Api-Key"), http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web
}

func TestDiagnoseTakesAURLOrANameOfTheFile(t *testing.T) {
	t.Parallel()
	url := reviewed(t, "review", "hunter-key").URL + "/mcp"
	file := filepath.Join(t.TempDir(), "junction.yaml")
	text := fmt.Sprintf(`{mcpServers: {billing: {url: %q, auth: [{scheme: api-key, token: hunter-key}]}, bare: {url: "%s?x"}}}`, url, url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"a name with a credential", []string{"billing", "--config", file}, exitDone, []string{"api-key is shown, and taken", "nothing wrong was found"}},
		{"its URL, as the file has it", []string{"--server", url, "--config", file}, exitDone, []string{"api-key is shown, and taken"}},
		{"a name without one", []string{"bare", "--config", file}, exitFailed, []string{"✗ 4 authentication", "no credential is held", "scheme: api-key", "layer 4, authentication, failed", "5–7  not reached: layer 4 failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := diagnoses(tt.args...)
			if code != tt.code || strings.Contains(stdout+stderr, "hunter") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
			for _, want := range tt.says {
				if !strings.Contains(stdout, want) {
					t.Errorf("nothing is said of %q:\n%s%s", want, stdout, stderr)
				}
			}
		})
	}
}

func TestDiagnosePrintsOneDocument(t *testing.T) {
	t.Parallel()
	stdout, _, code := diagnoses(strings.Replace(reviewed(t, "review", "").URL, "http://", "http://me:hunter@", 1)+"/mcp?hunter", "--json")
	d := jsonOf[view.Diagnosis](t, stdout)
	if code != exitDone || d.Status != diagnose.Passed || len(d.Servers) != 1 || len(d.Servers[0].Layers) != diagnose.Layers || strings.Contains(stdout, "hunter") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

// A service of three: one like most, one with another tool, one that is down.
func TestDiagnoseShowsEveryInstanceOfAService(t *testing.T) {
	t.Parallel()
	agent := consultest.Start(t)
	down := reviewed(t, "review", "")
	for i, web := range []*httptest.Server{reviewed(t, "review", ""), reviewed(t, "review", ""), reviewed(t, "inspect", ""), down} {
		var port int
		if _, err := fmt.Sscanf(web.URL, "http://127.0.0.1:%d", &port); err != nil {
			t.Fatal(err)
		}
		err := agent.Client().Agent().ServiceRegister(&api.AgentServiceRegistration{
			ID: fmt.Sprintf("reviewer-%d", i), Name: "reviewer", Tags: []string{"mcp", "code-review"}, Address: "127.0.0.1", Port: port,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	down.Close()
	stdout, stderr, code := diagnoses("reviewer", "--consul", agent.Address())
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"reviewer  4 instances",
		"reviewer-0  ✓ ✓ ✓ ✓ ✓ ✓ ✓",
		"reviewer-2  ✓ ✓ ✓ ✓ ✓ ✗ ✓",
		"reviewer-3  ✗ · · · · · ·",
		"unlike reviewer-0, an instance of the same service: tool inspect is new, tool review is gone",
		"refused the connection",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("nothing is said of %q:\n%s%s", want, stdout, stderr)
		}
	}
	if _, stderr, code = diagnoses("reviewers", "--consul", agent.Address()); code != exitUsage || !strings.Contains(stderr, "reviewer-0") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
