package diagnose_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"junction/router"
	"junction/router/diagnose"
)

func TestAFaultySchemaIsNamedByToolAndPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tools string
		says        []string
	}{
		{"a type that is none", `[{"name":"lint","inputSchema":{"type":"object","properties":{"n":{"type":"integr"}}}}]`, []string{"tool lint, inputSchema", "/properties/n/type"}},
		{"no object", `[{"name":"lint","inputSchema":{"type":"array"}}]`, []string{"tool lint, inputSchema: its type is array"}},
		{"none", `[{"name":"lint"}]`, []string{"tool lint, inputSchema: there is none"}},
		{"output", `[{"name":"lint","inputSchema":{"type":"object"},"outputSchema":{"required":"issues"}}]`, []string{"tool lint, outputSchema", "/required"}},
		{"a name that nobody can write", `[{"name":"a\u0007b","inputSchema":{"type":"object"}}]`, []string{"tool left out"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := diagnosed(t, at(serve(t, &scripted{tools: func() string { return tt.tools }})), nil)
			blames(t, r, diagnose.Document, tt.says...)
			if l := r.Layer(diagnose.Session); l.Status != diagnose.Passed {
				t.Errorf("what does not need the document is not looked at: %+v", l)
			}
		})
	}
}

func TestADocumentThatCannotBeReadIsTheDocuments(t *testing.T) {
	t.Parallel()
	rpc := func(body string) http.Handler { return answering(200, "application/json", body) }
	err := func(body string) http.Handler { return rpc(`{"jsonrpc":"2.0","id":null,"error":` + body + `}`) }
	for _, tt := range []struct {
		name    string
		handler http.Handler
		says    []string
	}{
		{"half", rpc(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-`), []string{"half a JSON document", "in the middle"}},
		{"empty", rpc(""), []string{"the answer is empty"}},
		{"another id", rpc(`{"jsonrpc":"2.0","id":7,"result":{}}`), []string{"the id of another request"}},
		{"neither result nor error", rpc(`{"status":"ok"}`), []string{"neither a result nor an error"}},
		{"not JSON", rpc(`OK`), []string{"no JSON", `"OK"`}},
		{"refused", err(`{"code":-32603,"message":"database is locked"}`), []string{"refuses the handshake", "database is locked"}},
		{"no common version", err(`{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}`), []string{"no common protocol version", "2031-01-01"}},
		{"a stream without an end", answering(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\n"), []string{"in the middle of an event"}},
		{"a stream without an answer", answering(200, "text/event-stream", ": hello\n\n"), []string{"ends without an answer"}},
		{"a stream of events without an end", answering(200, "text/event-stream", strings.Repeat("data: {\"method\":\"m\"}\n\n", 1001)), []string{"1000 events and no answer"}},
		{"a stream of anything without an end", answering(200, "text/event-stream", strings.Repeat(": hello\n", 1<<20)), []string{"4 MiB and no answer"}},
		{"a flood", rpc(strings.Repeat(" ", 5<<20)), []string{"larger than 4 MiB"}},
		{"half a list of tools", &scripted{first: func(w http.ResponseWriter, _ *http.Request, method string) bool {
			if method == "tools/list" {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"na`)
			}
			return method == "tools/list"
		}}, []string{"its tools cannot be read"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := diagnosed(t, at(serve(t, tt.handler)), nil)
			blames(t, r, diagnose.Document, tt.says...)
		})
	}
}

func TestOddMetadataIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := at(serve(t, &scripted{offers: `{"tools":{},"extensions":{"dev.junction/routing":{"latency_p95_ms":"fast","max_concurrent_requests":8,"requires_auth":true,"capability":"code-review"}}}`}))
	s.Source, s.MaxConcurrent = "consul", 20
	s.Offers = []router.Offer{{Capability: "code-review", Tool: "reviews"}}
	r := diagnosed(t, s, nil)
	if r.Status != diagnose.Warned || r.Layer(diagnose.Document).Status != diagnose.Warned || r.Layer(diagnose.Authentication).Status != diagnose.Warned {
		t.Error(shown(r))
	}
	for _, want := range []string{"latency_p95_ms is fast", "Consul says calls at once: 20, and the server 8", "names the tool reviews", "did you mean review?", "requires authentication, and answers without any"} {
		if !strings.Contains(shown(r), want) {
			t.Errorf("nothing is said of %q", want)
		}
	}
}

func TestAnAnswerIsFoundAmongOtherEvents(t *testing.T) {
	t.Parallel()
	s := &scripted{legacy: true}
	s.first = func(w http.ResponseWriter, r *http.Request, method string) bool {
		if method != "initialize" {
			return false
		}
		answer := httptest.NewRecorder()
		(&scripted{legacy: true}).ServeHTTP(answer, r)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Mcp-Session-Id", "hunter-session")
		fmt.Fprintf(w, "id: 1_0\nretry: 1000\ndata: \n\n: a comment\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: %s\n\n", answer.Body)
		return true
	}
	has(t, diagnosed(t, at(serve(t, s)), nil), "ppppppm")
}
