package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestTheEarlierEraIsToldOfACancelAndTheLaterSeesTheStreamClose(t *testing.T) {
	for _, modern := range []bool{true, false} {
		closed := make(chan struct{})
		h := &scripted{modern: modern, call: func(_ http.ResponseWriter, r *http.Request, _ string) {
			<-r.Context().Done()
			close(closed)
		}}
		s, _ := raw(t, h)
		c := newClient(t, nil)
		_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Max: 100 * time.Millisecond})
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "maximum" {
			t.Errorf("%s %s", e.Code, e.Clock)
		}
		<-closed
		if modern {
			if _, _, told := h.saw(); len(told) > 0 {
				t.Errorf("modern: posted %s", told)
			}
			continue
		}
		eventually(t, "notifications/cancelled", func() bool { _, _, told := h.saw(); return len(told) == 1 })
	}
}

func TestHeadersAndClocksTravelWithTheRequest(t *testing.T) {
	seen := make(chan http.Header, 1)
	s, _ := raw(t, &scripted{modern: true,
		tools: `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`,
		call: func(w http.ResponseWriter, r *http.Request, id string) {
			seen <- r.Header
			w.Header().Set("X-MCP-Actual-Duration", "0.25")
			answer(w, id, fine)
		}})
	s.Dial.Headers = map[string]string{"X-Api-Key": "hunter2hunter2"}
	r, err := newClient(t, nil).Call(t.Context(), s, router.ToolCall{Tool: "echo", Arguments: map[string]any{"region": "eu"}, Max: 9 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	h := <-seen
	for name, want := range map[string]string{
		"X-Api-Key": "hunter2hunter2", "Mcp-Method": "tools/call", "Mcp-Name": "echo",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Param-Region": "eu",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if left := h.Get("X-MCP-Timeout-Seconds"); !strings.HasPrefix(left, "8.") {
		t.Errorf("time left: %q", left)
	}
	if r.Duration != 250*time.Millisecond {
		t.Errorf("the server's own duration: %v", r.Duration)
	}
}

func TestNoCredentialIsShown(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"repeated by the server": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "token "+r.Header.Get("Authorization")+" at "+r.URL.RawQuery+" \x1b[2Jis wrong", 401)
		}),
		"in a broken connection": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cut("")(w, r, "") }),
	} {
		s, ts := raw(t, h)
		s.Dial.URL = strings.Replace(ts.URL, "http://", "http://user:hunter4hunter4@", 1) + "/mcp?key=hunter3hunter3"
		s.Dial.Headers = map[string]string{"Authorization": "Bearer hunter2hunter2"}
		c := newClient(t, nil)
		for range 2 { // the second is told from memory
			_, err := c.Describe(t.Context(), s)
			e := callError(t, err)
			shown := fmt.Sprintf("%v %+v %v", err, *e, e.Err)
			if strings.Contains(shown, "hunter") || strings.Contains(shown, "\x1b") {
				t.Errorf("%s: %q", name, shown)
			}
		}
	}
}

func TestARefusedServerFailsFastAndComesBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := &router.Server{ID: "late", Dial: router.Dial{URL: "http://" + addr + "/mcp"}}
	c := newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: 50 * time.Millisecond, Cap: 100 * time.Millisecond}})
	for range 3 {
		start := time.Now()
		_, err = c.Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "refused") {
			t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	}
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Skip("the port was taken: ", err)
	}
	ts := httptest.NewUnstartedServer(&scripted{call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)})
	ts.Listener.Close()
	ts.Listener = l
	ts.Start()
	defer ts.Close()
	eventually(t, "the server is used as soon as it is there", func() bool {
		_, err := c.Call(t.Context(), s, call("echo", nil))
		return err == nil
	})
}

func TestAHungServerDelaysNobodyElse(t *testing.T) {
	hung, _ := raw(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	hung.ID = "hung"
	good, _ := raw(t, &scripted{call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)})
	c := newClient(t, nil)
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), hung, router.ToolCall{Tool: "echo", Max: 300 * time.Millisecond})
		waiting <- err
	}()
	if _, err := c.Call(t.Context(), good, call("echo", nil)); err != nil {
		t.Error(err)
	}
	e := callError(t, <-waiting)
	if e.Code != router.Timeout || e.Execution != state.NotExecuted || e.Clock != "maximum" {
		t.Errorf("hung in the handshake: %s %s %q", e.Code, e.Execution, e.Clock)
	}
}

func TestManyParallelCallsKeepFewConnections(t *testing.T) {
	var open, most atomic.Int64
	h := &scripted{modern: true, call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)}
	ts := httptest.NewUnstartedServer(h)
	ts.Config.ConnState = func(_ net.Conn, is http.ConnState) {
		switch is {
		case http.StateNew:
			most.Store(max(most.Load(), open.Add(1)))
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	ts.Start()
	t.Cleanup(ts.Close)
	s := &router.Server{ID: "many", Dial: router.Dial{URL: ts.URL}}
	c := newClient(t, &mcp.Options{KeepConnections: 100})
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	eventually(t, "no more than 100 connections stay", func() bool { return open.Load() <= 100 })
}

func TestLinkLocalAddressesAreRefused(t *testing.T) {
	s := &router.Server{ID: "metadata", Dial: router.Dial{URL: "http://169.254.169.254/mcp"}}
	_, err := newClient(t, nil).Describe(t.Context(), s)
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "link-local") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
}

func TestAChangedAddressMeansANewConnection(t *testing.T) {
	ok := status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)
	first, second := &scripted{call: ok}, &scripted{call: ok}
	s, _ := raw(t, first)
	moved, _ := raw(t, second)
	c := newClient(t, nil)
	for _, at := range []*router.Server{s, {ID: s.ID, Dial: s.Dial}, moved, moved} {
		if _, err := c.Call(context.Background(), at, call("echo", nil)); err != nil {
			t.Fatal(err)
		}
	}
	a, _, _ := first.saw()
	b, _, _ := second.saw()
	if a != 1 || b != 1 {
		t.Errorf("%d and %d handshakes, want one each", a, b)
	}
}

func TestAFailedReadingOfTheToolsIsNoCallOfOne(t *testing.T) {
	var lists atomic.Int32
	var calls atomic.Int32
	h := &scripted{call: func(w http.ResponseWriter, _ *http.Request, id string) {
		calls.Add(1)
		rpc(-32602)(w, nil, id) // makes the tools suspect
	}}
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"tools/list"`)) && lists.Add(1) > 1 {
			http.Error(w, "broken", 500)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	c := newClient(t, nil)
	for range 2 {
		_, err := c.Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); e.Execution != state.NotExecuted {
			t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
		}
	}
	if lists.Load() != 2 || calls.Load() != 1 {
		t.Errorf("%d lists and %d calls, want 2 and 1", lists.Load(), calls.Load())
	}
}

func TestAPanicOfTheListenerIsAnErrorOfItsCall(t *testing.T) {
	s, _ := httpServer(t, true, nil)
	c := newClient(t, nil)
	_, err := c.Call(t.Context(), s, router.ToolCall{
		Tool: "steps", Arguments: map[string]any{"at": []any{1}, "every": 1, "hang": true}, Max: 10 * time.Second,
		Progress: func(float64, float64, string) { panic("boom") },
	})
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.Unknown || !strings.Contains(e.Message, "boom") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
}

func TestMoreThanOneAnswerOnAStreamIsCountedAndLeavesNothingBehind(t *testing.T) {
	s, _ := raw(t, &scripted{modern: true, call: func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 8 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, fine)
		}
	}})
	c := newClient(t, nil)
	for range 10 { // a goroutine that was left behind would be found when all tests have ended
		if r, err := c.Call(t.Context(), s, call("echo", nil)); err != nil || r.Text != "fine" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if got := c.Strays(s.ID); got[mcp.DuplicateAnswer] == 0 || len(got) != 1 {
		t.Errorf("counted %v", got)
	}
}
