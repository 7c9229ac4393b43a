package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/state"
)

// desk is one instance of a stateless server (2026-07-28) whose tool book asks
// for a name and keeps what it knows in the state that it hands out.
type desk struct {
	name  string
	calls atomic.Int32
}

// ServeHTTP implements http.Handler.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		rpc
		Params struct {
			Meta      map[string]any `json:"_meta"`
			State     string         `json:"requestState"`
			Responses map[string]struct {
				Action  string
				Content map[string]any
			} `json:"inputResponses"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result := ""
	switch m.Method {
	case "server/discover":
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "tools/list":
		result = `{"tools":[{"name":"book","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		d.calls.Add(1)
		capabilities, _ := m.Params.Meta["io.modelcontextprotocol/clientCapabilities"].(map[string]any)
		who := m.Params.Responses["who"]
		switch {
		case m.Params.State == "" && capabilities["elicitation"] == nil:
			result = `{"isError":true,"content":[{"type":"text","text":"nobody to ask"}]}`
		case m.Params.State == "":
			result = `{"resultType":"input_required","requestState":"seat 7","inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form",` +
				`"message":"For whom?","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}}}`
		default:
			result = fmt.Sprintf(`{"content":[],"structuredContent":{"booked":"%s for %v (%s) by %s"}}`, m.Params.State, who.Content["name"], who.Action, d.name)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if result == "" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// TestAServersQuestionWaitsDurablyAndItsAnswerReachesAnotherInstance asks in one
// process, shows the question in another, and answers in a third, by when another
// instance of the server stands behind its address.
func TestAServersQuestionWaitsDurablyAndItsAnswerReachesAnotherInstance(t *testing.T) {
	t.Parallel()
	instances := []*desk{{name: "first"}, {name: "second"}}
	var at atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { instances[at.Load()].ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"book.yaml": strings.NewReplacer("build", "book", "artifact", "booked").Replace(buildWorkflow),
		"junction.yaml": fmt.Sprintf("mcpServers:\n  desk:\n    url: %s\n    offers:\n      - {capability: book, tool: book, effect: unsafe}\n",
			web.URL),
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, _ := commandIn(ctx, t, dir, "run", "book.yaml", "--thread", "t", "--json").Output() // exits 3: it waits
	asked := jsonOf[struct {
		Status     state.Status
		Interrupts []struct {
			ID    string
			Value map[string]any
		}
	}](t, string(out))
	if asked.Status != state.StatusInterrupted || len(asked.Interrupts) != 1 || asked.Interrupts[0].Value["question"] != "For whom?" {
		t.Fatalf("run: %+v", asked)
	}
	out, err := commandIn(ctx, t, dir, "threads").Output()
	if err != nil || !strings.Contains(string(out), "For whom?") {
		t.Errorf("threads: %v: %s", err, out)
	}
	at.Store(1)
	out, err = commandIn(ctx, t, dir, "resume", "t", "--json", "--answer", `{"content":{"name":7}}`).Output()
	if err == nil {
		t.Errorf("an answer of the wrong type was taken: %s", out)
	}
	out, err = commandIn(ctx, t, dir, "resume", "t", "--json", "--answer", `{"content":{"name":"Ada"}}`).Output()
	if err != nil {
		t.Fatalf("resume: %v: %s", err, out)
	}
	res := jsonOf[struct{ State map[string]any }](t, string(out))
	if want := "seat 7 for Ada (accept) by second"; res.State["booked"] != want {
		t.Errorf("booked %v, want %q", res.State["booked"], want)
	}
	if a, b := instances[0].calls.Load(), instances[1].calls.Load(); a != 1 || b != 1 {
		t.Errorf("%d and %d calls, want one each", a, b)
	}
}
