package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/state"
)

// eachServer runs a test against real servers: both transports, both eras.
func eachServer(t *testing.T, test func(t *testing.T, s *router.Server, modern bool)) {
	t.Run("stdio, modern", func(t *testing.T) {
		t.Parallel()
		test(t, stdioServer(t, "modern"), true)
	})
	t.Run("stdio, legacy", func(t *testing.T) {
		t.Parallel()
		test(t, stdioServer(t, "legacy"), false)
	})
	t.Run("http, modern", func(t *testing.T) {
		t.Parallel()
		s, _ := httpServer(t, true, nil)
		test(t, s, true)
	})
	t.Run("http, legacy", func(t *testing.T) {
		t.Parallel()
		s, _ := httpServer(t, false, nil)
		test(t, s, false)
	})
}

func callError(t *testing.T, err error) *router.CallError {
	t.Helper()
	e, ok := errors.AsType[*router.CallError](err)
	if !ok {
		t.Fatalf("error is %v (%T), want a *router.CallError", err, err)
	}
	return e
}

func TestDescriptionOfARealServer(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, modern bool) {
		c := newClient(t, nil)
		d, err := c.Describe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != "bench" || d.Version != "1.2.3" || d.Modern != modern {
			t.Errorf("got %s %s, modern %v", d.Name, d.Version, d.Modern)
		}
		if modern != (d.ProtocolVersion == "2026-07-28") {
			t.Errorf("protocol %s with modern %v", d.ProtocolVersion, modern)
		}
		want := router.Routing{LatencyP95MS: 850, MaxConcurrent: 120, RequiresAuth: true, Attributes: map[string][]string{"language": {"go", "rust"}}}
		if diff := cmp.Diff(want, d.Routing); diff != "" {
			t.Error(diff)
		}
		var names []string
		for _, tool := range d.Tools {
			names = append(names, tool.Name)
		}
		if diff := cmp.Diff([]string{"big", "die", "echo", "env", "fail", "grow", "meta", "steps", "wait", "where"}, names); diff != "" {
			t.Error("tools of all pages:", diff)
		}
		echo := d.Tools[2]
		if echo.ReadOnly == nil || !*echo.ReadOnly || echo.Routing.Capability != "echo" ||
			!cmp.Equal(echo.Routing.Attributes, map[string][]string{"review_depth": {"deep"}}) {
			t.Errorf("echo: %+v", echo)
		}
		if d.Tools[0].OutputSchema == nil || echo.OutputSchema != nil {
			t.Error("output schemas are not told apart from none")
		}
		if d.Session.ID == "" || !strings.HasPrefix(d.Session.ContextHash, "sha256:") || d.Session.Server != s.ID || d.Session.Endpoint != s.Endpoint() {
			t.Errorf("session %+v", d.Session)
		}
	})
}

func TestCallsOfARealServer(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, modern bool) {
		c := newClient(t, nil)
		r, err := c.Call(t.Context(), s, call("echo", map[string]any{"text": "héllo\nworld"}))
		if err != nil || r.Text != "héllo\nworld" || r.IsError {
			t.Errorf("echo: %+v, %v", r, err)
		}
		r, err = c.Call(t.Context(), s, call("big", nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(map[string]any{"n": int64(9007199254740993)}), r.Structured); diff != "" {
			t.Error("an integer beyond 2^53 is not exact:", diff)
		}
		r, err = c.Call(t.Context(), s, call("fail", nil))
		if err != nil || !r.IsError || r.Text != "the disk is full" {
			t.Errorf("a tool's own error is a result: %+v, %v", r, err)
		}
		m := call("meta", nil)
		m.Meta = map[string]any{"key": "k-1", "progressToken": "forged"}
		if r, err = c.Call(t.Context(), s, m); err != nil || r.Text != "k-1" {
			t.Errorf("meta: %+v, %v", r, err)
		}
	})
}

func TestWhatDoesNotFitIsRefusedBeforeItIsSent(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, _ bool) {
		c := newClient(t, nil)
		for name, tc := range map[string]struct {
			call router.ToolCall
			says string
		}{
			"unknown tool": {call("ekho", nil), "no such tool"},
			"missing":      {call("echo", nil), "text"},
			"wrong type":   {call("echo", map[string]any{"text": 3}), "got number, want string"},
			"no JSON form": {call("echo", map[string]any{"text": make(chan int)}), "text"},
		} {
			_, err := c.Call(t.Context(), s, tc.call)
			e := callError(t, err)
			if e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%s: %s %s %s", name, e.Code, e.Execution, e.Message)
			}
		}
		_, err := c.Call(t.Context(), s, call("big", map[string]any{"bad": true}))
		e := callError(t, err)
		if e.Code != router.OutputInvalid || e.Execution != state.Unknown || !strings.Contains(e.Message, "output schema") {
			t.Errorf("bad output: %s %s %s", e.Code, e.Execution, e.Message)
		}
	})
}

func TestProgressIsToldAndHoldsTheIdleClockOff(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, _ bool) {
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil { // starting it is no part of the clock below
			t.Fatal(err)
		}
		var told []float64
		r, err := c.Call(t.Context(), s, router.ToolCall{
			Tool: "steps", Arguments: map[string]any{"at": []any{1, 2, 3, 4}, "every": 300},
			Idle: 800 * time.Millisecond, Max: 10 * time.Second,
			Progress: func(at, total float64, message string) {
				if total != 10 || message != fmt.Sprint("step ", at) {
					t.Errorf("progress %v of %v: %s", at, total, message)
				}
				told = append(told, at)
			},
		})
		if err != nil || r.Text != "done" {
			t.Fatalf("%+v, %v", r, err)
		}
		if len(told) == 0 || !isRising(told) {
			t.Errorf("told %v", told)
		}
	})
}

func isRising(v []float64) bool {
	for i := range v[1:] {
		if v[i+1] <= v[i] {
			return false
		}
	}
	return true
}

func TestEachClockEndsACallAndSaysSo(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, _ bool) {
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		hang := func(at ...any) map[string]any { return map[string]any{"at": at, "every": 100, "hang": true} }
		for name, tc := range map[string]struct {
			args      map[string]any
			idle, max time.Duration
			caller    time.Duration
			clock     string
			code      router.Code
		}{
			"idle without progress":        {args: hang(), idle: 200 * time.Millisecond, max: 5 * time.Second, clock: "idle", code: router.Timeout},
			"progress that does not rise":  {args: hang(1, 1, 1, 1, 1, 1, 1, 1), idle: 300 * time.Millisecond, max: 5 * time.Second, clock: "idle", code: router.Timeout},
			"maximum in spite of progress": {args: hang(1, 2, 3, 4, 5, 6, 7, 8, 9), idle: 400 * time.Millisecond, max: 600 * time.Millisecond, clock: "maximum", code: router.Timeout},
			"the caller's deadline":        {args: hang(), idle: 5 * time.Second, max: 5 * time.Second, caller: 200 * time.Millisecond, clock: "caller", code: router.Timeout},
		} {
			ctx := t.Context()
			if tc.caller > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.caller)
				defer cancel()
			}
			_, err := c.Call(ctx, s, router.ToolCall{Tool: "steps", Arguments: tc.args, Idle: tc.idle, Max: tc.max})
			e := callError(t, err)
			if e.Code != tc.code || e.Clock != tc.clock || e.Execution != state.Unknown {
				t.Errorf("%s: %s, clock %q, %s: %s", name, e.Code, e.Clock, e.Execution, e.Message)
			}
		}
		if _, err := c.Call(t.Context(), s, call("echo", map[string]any{"text": "still here"})); err != nil {
			t.Errorf("a timeout ended more than its call: %v", err)
		}
	})
}

func TestCancelReachesTheServer(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, _ bool) {
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		mark := filepath.Join(t.TempDir(), "mark")
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(300*time.Millisecond, cancel)
		defer stop.Stop()
		_, err := c.Call(ctx, s, call("wait", map[string]any{"mark": mark}))
		e := callError(t, err)
		if e.Code != router.Cancelled || e.Execution != state.Unknown || !errors.Is(e, context.Canceled) {
			t.Errorf("%s %s %v", e.Code, e.Execution, e.Err)
		}
		eventually(t, "the server notices the cancel", func() bool {
			_, err := os.Stat(mark)
			return err == nil
		})
	})
}

// eventually waits for what another process does; there is no event to wait on.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("not within 10 s: ", what)
		}
	}
}

func TestACancelledContextSendsNothing(t *testing.T) {
	s, _ := httpServer(t, true, nil)
	c := newClient(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Call(ctx, s, call("echo", map[string]any{"text": "x"}))
	if e := callError(t, err); e.Code != router.Cancelled || e.Execution != state.NotExecuted {
		t.Errorf("%s %s", e.Code, e.Execution)
	}
}
