package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"junction/cmd/junction/internal/cause"
	"junction/cmd/junction/internal/view"
)

// moody is an MCP server over HTTP that does as it is asked: by the call's argument
// "how", or, for what a proxy does, by the header's status.
func moody(t *testing.T) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	s := server.NewMCPServer("moody", "1.0.0")
	s.AddTool(mcp.NewTool("do", mcp.WithString("how")), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch r.GetString("how", "") {
		case "hang":
			<-ctx.Done()
			return nil, ctx.Err()
		case "refuse":
			return mcp.NewToolResultError("the quota of today is used up"), nil
		case "fail":
			return nil, errors.New("the disk is full")
		}
		return mcp.NewToolResultStructured(map[string]any{"ok": true}, "ok"), nil
	})
	status := new(atomic.Int32)
	inner := server.NewStreamableHTTPServer(s)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if code := int(status.Load()); code != 0 && bytes.Contains(body, []byte(`"tools/call"`)) && bytes.Contains(body, []byte(`"proxy"`)) {
			w.WriteHeader(code)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h, status
}

// asking is a workflow that calls the tool well, and then three times as named.
const asking = `
workflow: asking
state:
  first: {type: boolean}
  oks:   {type: array, reduce: append}
nodes:
  well:
    call:  {capability: doing, with: {how: well}}
    write: {first: "${result.ok}"}
  then:
    each:  "${1..3}"
    call:  {capability: doing, with: {how: HOW}, timeout: 400ms}
    write: {oks: "${[result.ok]}"}
edges:
  - start -> well -> then -> end
`

func TestARunThatFailsSaysWhyByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		how    string
		limit  string // of a call; "": 400ms
		status int    // of the answer to how: proxy
		flags  []string
		kind   cause.Kind
		says   []string
		runs   int // before it
		exit   int
	}{
		{"a server that is too slow", "hang", "", 0, nil, cause.Slow, []string{"MCP_TIMEOUT", "slower than the node's timeout"}, 0, exitFailed},
		{"the caller's own deadline", "hang", "5m", 0, []string{"--timeout", "4s"}, cause.Deadline, []string{"own time was over"}, 0, exitCancelled},
		{"a tool that refuses everything", "refuse", "", 0, nil, cause.Quota, []string{"quota", "tool errors"}, 3, exitFailed},
		{"a server that fails inside", "fail", "", 0, nil, cause.Broken, []string{"MCP_SERVER_ERROR", "own log"}, 0, exitFailed},
		{"a server that is overloaded", "proxy", "", http.StatusTooManyRequests, []string{"--timeout", "20s"}, cause.Overloaded, []string{"overloaded", "replica"}, 0, exitFailed},
		{"a server that wants a credential", "proxy", "", http.StatusUnauthorized, nil, cause.Auth, []string{"MCP_AUTH_REQUIRED", "servers file"}, 0, exitFailed},
		{"a server that forbids", "proxy", "", http.StatusForbidden, nil, cause.Auth, []string{"MCP_AUTH_MISMATCH", "servers file"}, 0, exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, status := moody(t)
			status.Store(int32(c.status))
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{
				"asking.yaml":   strings.NewReplacer("HOW", c.how, "400ms", cmp.Or(c.limit, "400ms")).Replace(asking),
				"junction.yaml": "mcpServers:\n  moody:\n    url: " + h.URL + "/mcp\n    offers: [{capability: doing, tool: do, effect: safe}]\n",
			})
			for range c.runs {
				junctionIn(t, dir, "run", "asking.yaml")
			}
			out, errs, code := junctionIn(t, dir, append([]string{"run", "asking.yaml", "--thread", "t-1"}, c.flags...)...)
			if code != c.exit {
				t.Fatalf("exit %d\n%s%s", code, out, errs)
			}
			for _, want := range append(c.says, "likely: ", "try: ", "why:   junction explain t-1") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not said by the run that failed:\n%s", want, out)
				}
			}
			explained, errs, code := junctionIn(t, dir, "explain", "t-1", "--json")
			if code != exitDone {
				t.Fatalf("explain: exit %d\n%s", code, errs)
			}
			var x view.Explained
			if err := json.Unmarshal([]byte(explained), &x); err != nil {
				t.Fatal(err)
			}
			if x.Cause == nil || x.Cause.Kind != c.kind {
				t.Fatalf("cause: %+v\n%s", x.Cause, out)
			}
			if b := x.Cause.Before; b == nil || b.From != "history" || b.Calls < 1 && b.Codes == nil || b.Server != "moody" {
				t.Errorf("the server before: %+v", b)
			}
		})
	}
}

func TestAServerThatGoesAwayInMidRunIsSaidToBeDown(t *testing.T) {
	t.Parallel()
	h, _ := moody(t)
	dir := t.TempDir()
	text := strings.Replace(strings.ReplaceAll(asking, "HOW", "well"), "edges:\n  - start -> well -> then", "  gate:\n    ask: {question: \"Go on?\", answer: boolean}\n    write: {first: \"${answer}\"}\nedges:\n  - start -> well -> gate -> then", 1)
	writeFiles(t, dir, map[string]string{
		"asking.yaml":   text,
		"junction.yaml": "mcpServers:\n  moody:\n    url: " + h.URL + "/mcp\n    offers: [{capability: doing, tool: do, effect: safe}]\n",
	})
	if out, errs, code := junctionIn(t, dir, "run", "asking.yaml", "--thread", "t-1"); code != exitWaiting {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	h.Close()
	out, errs, code := junctionIn(t, dir, "resume", "t-1", "--answer", "true")
	if code != exitFailed || !strings.Contains(out, "the server is down") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestARunThatWasLeftSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	h, _ := moody(t)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"asking.yaml":   strings.ReplaceAll(strings.ReplaceAll(asking, "HOW", "hang"), "400ms", "5m"),
		"junction.yaml": "mcpServers:\n  moody:\n    url: " + h.URL + "/mcp\n    offers: [{capability: doing, tool: do, effect: unsafe}]\n",
	})
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := commandIn(ctx, t, dir, "run", "asking.yaml", "--thread", "t-1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		kill()
		_ = cmd.Wait() // it was killed
	}()
	limit, tick := time.After(30*time.Second), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		out, _, _ := junctionIn(t, dir, "explain", "t-1")
		if strings.Contains(out, "do at moody (node then) is under way") {
			for _, check := range []string{"router loop", "session or clock", "stale discovery", "blocked checkpoint", "oversized context"} {
				if !strings.Contains(out, check) {
					t.Errorf("%q is not checked:\n%s", check, out)
				}
			}
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("after half a minute:\n%s", out)
		}
	}
}
