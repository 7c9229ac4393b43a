package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestStreamsOfTheServersPassProxies(t *testing.T) {
	t.Parallel()
	s := run(t, "--reviewer", "diff")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	ask := func(method, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	hello := ask( //nolint:bodyclose // ask closes it when the test ends
		http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if _, err := io.Copy(io.Discard, hello.Body); err != nil || hello.Header.Get("X-Accel-Buffering") != "" {
		t.Fatalf("an answer that is no stream: %v, %v", hello.Header, err)
	}
	stream := ask(http.MethodGet, hello.Header.Get("Mcp-Session-Id"), "") //nolint:bodyclose // ask closes it when the test ends
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
		if got := stream.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
