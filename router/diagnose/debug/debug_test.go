package debug_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"junction/router/diagnose/debug"
)

// echo answers with the body that it got.
func echo(t *testing.T) string {
	t.Helper()
	ts := httptest.NewServer(debug.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%d %s", len(body), body[:min(len(body), 80)])
	})))
	t.Cleanup(ts.Close)
	return ts.URL
}

func post(t *testing.T, url string, body io.Reader, headers ...string) (h http.Header, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header, string(data)
}

func TestOtherRequestsPassWhole(t *testing.T) {
	t.Parallel()
	url := echo(t)
	for _, tt := range []struct {
		name, body string
		chunked    bool
	}{
		{"short", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, false},
		{"empty", "", false},
		{"no JSON", "dev.junction/debug", false},
		{"one that speaks of the method", `{"id":1,"method":"tools/call","params":{"text":"dev.junction/debug"}}`, false},
		{"a notification", `{"method":"dev.junction/debug"}`, false},
		{"long", strings.Repeat("x", 100_000), false},
		{"without a length", `{"jsonrpc":"2.0","id":1,"method":"dev.junction/debug"}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var body io.Reader = strings.NewReader(tt.body)
			if tt.chunked {
				body = io.MultiReader(body)
			}
			_, got := post(t, url, body)
			if want := fmt.Sprintf("%d %s", len(tt.body), tt.body[:min(len(tt.body), 80)]); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestTheAnswersHeaderNamesWhatArrived(t *testing.T) {
	t.Parallel()
	url := echo(t)
	h, _ := post(t, url, strings.NewReader("{}"), "X-MCP-Debug", "true", "Mcp-Session-Id", "hunter", "Authorization", "Bearer hunter")
	if got := h.Get("X-MCP-Debug-Arrived"); got != "Mcp-Session-Id, X-Mcp-Debug" {
		t.Error(got)
	}
	if h, _ = post(t, url, strings.NewReader("{}"), "Mcp-Session-Id", "hunter"); h.Get("X-MCP-Debug-Arrived") != "" {
		t.Error("it tells who did not ask")
	}
}

func TestTimedEventsThenWhatArrived(t *testing.T) {
	t.Parallel()
	began := time.Now()
	h, body := post(t, echo(t), strings.NewReader(`{"jsonrpc":"2.0","id":"seven","method":"dev.junction/debug"}`),
		"Mcp-Method", "dev.junction/debug", "Mcp-Session-Id", "hunter-session", "X-MCP-Auth-Token", "hunter-token", "Via", "1.1 hunter-proxy")
	if h.Get("Content-Type") != "text/event-stream" {
		t.Error(h)
	}
	var last struct {
		ID     string
		Method string
		Params debug.Event
		Result struct {
			Meta map[string]debug.Report `json:"_meta"`
		}
	}
	n := 0
	if strings.Contains(body, "hunter") {
		t.Errorf("a secret is told: %s", body)
	}
	for l := range strings.Lines(body) {
		data, ok := strings.CutPrefix(l, "data: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			t.Fatal(err)
		}
		if n++; last.ID == "" && (last.Params.N != n || last.Params.AtMS < int64(n-1)*100) {
			t.Errorf("event %d: %s", n, data)
		}
	}
	r := last.Result.Meta[debug.MetaKey]
	if last.ID != "seven" || n != debug.Events+1 || time.Since(began) < 200*time.Millisecond {
		t.Errorf("%d events, %+v", n, last)
	}
	if r.Headers["Mcp-Method"] != "dev.junction/debug" || !strings.HasPrefix(r.Headers["Mcp-Session-Id"], "sha256:") || len(r.Headers) != 3 || len(r.Passed) != 1 || r.Passed[0] != "Via" {
		t.Errorf("%+v", r)
	}
}

func TestAStreamIsQuietForAsLongAsWasAsked(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, body := post(t, echo(t), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"dev.junction/debug","params":{"quiet_ms":400}}`))
	if took := time.Since(began); took < 700*time.Millisecond || !strings.Contains(body, `"id":1`) {
		t.Errorf("%v: %s", took, body)
	}
}
