package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestANotificationLeavesAsItWasWritten(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, modern bool, s *router.Server, _ *wireScript) {
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		for _, n := range []mcp.Notification{{Method: "notifications/a", Params: json.RawMessage("{\"n\":\n12345678901234567890,\"a\":1.0}")}, {Method: "notifications/b"}} {
			if err := w.Notify(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Notify(t.Context(), mcp.Notification{Method: "notifications/c", Params: json.RawMessage(`{"a":`)}); err == nil {
			t.Error("what is no JSON was sent")
		}
		want := `{"jsonrpc":"2.0","method":"notifications/a","params":{"n":12345678901234567890,"a":1.0}},{"jsonrpc":"2.0","method":"notifications/b"}]`
		if r := ask(t, w, mcp.Request{Method: "x/heard"}); !strings.HasSuffix(string(r.Result), want) || strings.Contains(string(r.Result), "initialized") == modern {
			t.Errorf("the server heard %s", r.Result)
		}
	})
}

func TestHalfAnAnswerIsOfUnknownExecution(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, _ *wireScript) {
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, e := w.Do(ctx, &mcp.Request{Method: "x/half"})
		if e == nil || e.Code != router.OutputInvalid || e.Execution != state.Unknown {
			t.Errorf("%v", e)
		}
		ask(t, w, mcp.Request{Method: "x/exact"})
	})
}

func TestTheCallersDeadlineIsTheOnlyClock(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, _ *wireScript) {
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, e := w.Do(ctx, &mcp.Request{Method: "x/hang"})
		if e == nil || e.Code != router.Timeout || e.Clock != "caller" {
			t.Errorf("%v", e)
		}
	})
}

func TestNothingIsToldOfARequestThatIsOver(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "wire, legacy")
	c := newClient(t, nil)
	w := open(t, c, s, mcp.Greeting{}, mcp.Events{})
	var over atomic.Bool
	ask(t, w, mcp.Request{Method: "x/late", Progress: func(json.RawMessage) {
		if over.Load() {
			t.Error("progress after the end")
		}
	}})
	over.Store(true)
	ask(t, w, mcp.Request{Method: "x/progress", Progress: func(json.RawMessage) {}}) // the script writes on one pipe
	eventually(t, "late progress is counted", func() bool { return c.Strays(s.ID)[mcp.LateProgress] > 0 })
}

func TestWhatAServerAskedOnAnEndedStreamIsMoot(t *testing.T) {
	t.Parallel()
	s, _ := raw(t, newWireScript(false))
	ends := make(chan context.Context, 1)
	w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{Asked: func(context.Context, string, json.RawMessage, func(mcp.Reply)) {
		t.Error("the request's own stream is another's to hear")
	}})
	for range 70 { // more than may be open at once
		ask(t, w, mcp.Request{Method: "x/abandon", Asked: func(ctx context.Context, _ string, _ json.RawMessage, answer func(mcp.Reply)) {
			ends <- ctx
		}})
		receive(t, receive(t, ends).Done())
	}
}

func TestAnAttemptToOpenIsObservedAsAHandshake(t *testing.T) {
	t.Parallel()
	codes := make(chan router.Code, 2)
	c := newClient(t, &mcp.Options{OnHandshake: func(_ string, _ time.Duration, failed router.Code) { codes <- failed }})
	open(t, c, stdioServer(t, "wire, modern"), mcp.Greeting{}, mcp.Events{})
	if code := receive(t, codes); code != "" {
		t.Error(code)
	}
	if _, e := c.Open(t.Context(), stdioServer(t, "never starts"), mcp.Greeting{}, mcp.Events{}); e == nil {
		t.Error("it opened")
	}
	if code := receive(t, codes); code != router.Transport {
		t.Error(code)
	}
}

func TestTheClientsEndClosesItsWires(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, script *wireScript) {
		c := mcp.New(nil)
		w, e := c.Open(t.Context(), s, mcp.Greeting{}, mcp.Events{})
		if e != nil {
			t.Fatal(e)
		}
		done := make(chan *router.CallError, 1)
		sent := make(chan struct{})
		go func() {
			_, e := w.Do(context.Background(), &mcp.Request{Method: "x/hang", Sent: func() { close(sent) }})
			done <- e
		}()
		receive(t, sent)
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		receive(t, w.Gone())
		if e := receive(t, done); e == nil || e.Code != router.Transport {
			t.Errorf("in flight: %v", e)
		}
		if script != nil && script.session != "" && script.ended != 1 {
			t.Errorf("%d sessions ended", script.ended)
		}
		if _, e := c.Open(t.Context(), s, mcp.Greeting{}, mcp.Events{}); e == nil || e.Execution != state.NotExecuted {
			t.Errorf("opened after the end: %v", e)
		}
	})
}

func TestOpenFailsAsAHopsHandshakeDoes(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	_, e := c.Open(t.Context(), stdioServer(t, "never starts"), mcp.Greeting{}, mcp.Events{})
	if e == nil || e.Code != router.Transport || e.Execution != state.NotExecuted || len(e.Stderr) == 0 {
		t.Errorf("%+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, e = c.Open(ctx, stdioServer(t, "hangs"), mcp.Greeting{}, mcp.Events{})
	if e == nil || e.Code != router.Timeout || e.Execution != state.NotExecuted || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("%+v", e)
	}
}
