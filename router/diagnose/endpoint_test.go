package diagnose_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"junction/router/diagnose"
)

// answering is a handler with one answer to everything.
func answering(status int, media, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestWhatIsNoMCPServerIsTheEndpoints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		handler http.Handler
		says    []string
	}{
		{"nothing at the path", http.NotFoundHandler(), []string{`nothing at the path "/mcp" (HTTP 404)`, "correct the path"}},
		{"no POST", answering(405, "text/plain", "no", "Allow", "GET"), []string{"takes no POST", "it allows GET"}},
		{"a web page", answering(200, "text/html", "<!doctype html><title>Shop</title>"), []string{"a web page answers"}},
		{"another service", answering(200, "text/plain", "OK"), []string{"HTTP 200 text/plain", "OK"}},
		{"to another path", answering(307, "", "", "Location", "/api/mcp/"), []string{"redirects (HTTP 307)", "/api/mcp/", "mcpServers:\n  tested:\n    url: http://127.0.0.1"}},
		{"to another host", answering(302, "", "", "Location", "https://other.example/mcp?token=hunter"), []string{"https://other.example/mcp", "another origin"}},
		{"to a login", answering(302, "", "", "Location", "/login?next=/mcp"), []string{"where people log in"}},
		{"nobody upstream", answering(502, "text/html", "<h1>Bad Gateway</h1>"), []string{"in front of the server answers in its place"}},
		{"busy", answering(429, "application/json", "{}", "Retry-After", "7"), []string{"refuses to answer now", "wait for 7 s"}},
		{"broken", answering(500, "text/plain", "panic: nil map"), []string{"it fails: HTTP 500", "panic: nil map"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := diagnosed(t, at(serve(t, tt.handler)), nil)
			blames(t, r, diagnose.Endpoint, tt.says...)
			has(t, r, "pfrrrrr")
			if strings.Contains(shown(r), "hunter") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestTheRightPathIsFound(t *testing.T) {
	t.Parallel()
	u := strings.TrimSuffix(serve(t, &scripted{legacy: true}), "/mcp")
	blames(t, diagnosed(t, at(u+"/api"), nil), diagnose.Endpoint, "an MCP server answers at "+u+"/mcp", "url: "+u+"/mcp")
}

func TestTheTransportOf2024IsToldApart(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages?id=1\n\n")
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	blames(t, diagnosed(t, at(ts.URL+"/mcp"), nil), diagnose.Endpoint, "HTTP+SSE", "/sse")
	blames(t, diagnosed(t, at(ts.URL+"/sse"), nil), diagnose.Endpoint, "HTTP+SSE")
}

func TestTheWrongSchemeIsTheEndpoints(t *testing.T) {
	t.Parallel()
	plain := serve(t, &scripted{})
	blames(t, diagnosed(t, at(strings.Replace(plain, "http://", "https://", 1)), nil), diagnose.Endpoint, "plain text, and not in TLS", "url: "+plain)
	ts := httptest.NewUnstartedServer(&scripted{})
	ts.Config.ErrorLog = silent
	ts.StartTLS()
	t.Cleanup(ts.Close)
	blames(t, diagnosed(t, at(strings.Replace(ts.URL, "https://", "http://", 1)), nil), diagnose.Endpoint, "speaks TLS, and was asked in plain text", "url: "+ts.URL)
}

func TestAServiceOfAnotherKindIsNoEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, greeting, says string }{
		{"speaks first", "SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"},
		{"hangs up", "", "closes the connection without an answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := diagnosed(t, at("http://"+greeter(t, tt.greeting)+"/mcp"), nil)
			blames(t, r, diagnose.Endpoint, tt.says)
		})
	}
}

func TestAServerThatLeavesDiscoverUnansweredIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := &scripted{legacy: true, first: func(_ http.ResponseWriter, r *http.Request, method string) bool {
		if method != "server/discover" {
			return false
		}
		<-r.Context().Done()
		return true
	}}
	r := diagnosed(t, at(serve(t, s)), &diagnose.Options{Patience: time.Second})
	if l := r.Layer(diagnose.Endpoint); r.Status != diagnose.Warned || l.Status != diagnose.Warned {
		t.Error(shown(r))
	}
}
