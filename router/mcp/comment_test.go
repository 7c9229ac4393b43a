package mcp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/sse"
)

// A comment line is a sign of life of the connection, not of the work (R26).
func TestCommentLinesAreNoProgress(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	h := &scripted{modern: true, call: func(w http.ResponseWriter, r *http.Request, _ string) {
		defer close(gone)
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 0; ; n++ {
			if n == 5 { // many at once, of every form
				io.WriteString(w, ":\r\n: keep-alive\n:data: {}\n\n:"+strings.Repeat("x", 1000)+"\n")
			}
			if _, err := io.WriteString(w, ":\n\n"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-time.After(20 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	}}
	s, _ := raw(t, h)
	c := newClient(t, nil)
	began := time.Now()
	_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Idle: 300 * time.Millisecond, Max: 20 * time.Second})
	took := time.Since(began)
	if e, ok := errors.AsType[*router.CallError](err); !ok || e.Code != router.Timeout || e.Clock != "idle" || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	<-gone
}

func TestCommentLinesAreIgnored(t *testing.T) {
	t.Parallel()
	h := &scripted{modern: true}
	wrapped := sse.Handler(h, &sse.Options{Every: 10 * time.Millisecond})
	h.call = func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(500 * time.Millisecond): // some fifty comments
		case <-r.Context().Done():
			return
		}
		fmt.Fprintf(w, ": and one before it\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, fine)
	}
	s, _ := raw(t, wrapped)
	c := newClient(t, &mcp.Options{MaxResponseBytes: 4 << 10})
	if r, err := c.Call(t.Context(), s, call("echo", nil)); err != nil || r.Text != "fine" {
		t.Errorf("%+v, %v", r, err)
	}
}
