package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// The statements of the reliability checklist that a client answers for.

var overStdio = wires[:2]

func onEach(t *testing.T, of []wire, test func(t *testing.T, w wire)) {
	for _, w := range of {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// cancelled makes a call that is cancelled once the server works on it.
func cancelled(t *testing.T, c *mcp.Client, s *router.Server) *router.CallError {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.Call(ctx, s, held(cancel))
	e := callError(t, err)
	if e.Code != router.Cancelled || e.Execution != state.Unknown {
		t.Errorf("%v, %s", e, e.Execution)
	}
	return e
}

func TestAStdioCancelSendsTheNotificationAndExpectsNoAnswer(t *testing.T) {
	onEach(t, overStdio, func(t *testing.T, w wire) {
		s, lines := w.roll(t)
		c := newClient(t, nil)
		cancelled(t, c, s) // returns although nothing was answered yet
		eventually(t, "notifications/cancelled", func() bool { return len(containing(lines(), "notifications/cancelled")) > 0 })
		told := containing(lines(), "notifications/cancelled")
		asked := containing(lines(), `"tools/call"`)
		id := strings.TrimPrefix(ids.FindString(asked[0]), `"id":`)
		if len(told) != 1 || !strings.Contains(told[0], `"requestId":`+id) || !strings.Contains(told[0], `"reason":"cancelled by the caller"`) ||
			strings.Contains(told[0], `"id":`) {
			t.Errorf("asked %s, told %s", asked, told)
		}
	})
}

func TestAnHTTPCancelClosesTheStreamAndPostsNothing(t *testing.T) {
	w := wire{modern: true} // over HTTP
	s, lines := w.roll(t)
	c := mcp.New(nil)
	cancelled(t, c, s)
	eventually(t, "the stream is closed", func() bool { return len(containing(lines(), "C closes the stream")) == 1 })
	if _, err := c.Call(t.Context(), s, call("work", nil)); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil { // waits for notices under way
		t.Error(err)
	}
	if posts := containing(lines(), "C POST"); len(posts) != 4 || len(containing(posts, "notifications")) > 0 {
		t.Errorf("want discover, list and two calls, got %s", strings.Join(posts, "\n"))
	}
}

func TestACancelThatComesFirstSuppressesTheResult(t *testing.T) {
	onEach(t, wires, func(t *testing.T, w wire) {
		s, lines := w.roll(t)
		c := newClient(t, nil)
		cancelled(t, c, s)
		if w.stdio {
			eventually(t, "the late answer is counted", func() bool { return c.Strays(s.ID)[mcp.LateAnswer] == 1 })
			if got := c.Strays(s.ID); got[mcp.LateProgress] != 1 || len(got) != 2 {
				t.Errorf("counted %v", got)
			}
		} else {
			eventually(t, "the server answers all the same", func() bool { return len(containing(lines(), "S event")) == 2 })
		}
		r, err := c.Call(t.Context(), s, call("work", nil))
		if err != nil || r.Text != "fine" {
			t.Errorf("the next call: %+v, %v", r, err)
		}
	})
}

// The second answer, which follows the first at once, cancels the call: whichever
// its goroutine looks at first, the result stands.
func TestACompletionThatComesFirstKeepsTheResult(t *testing.T) {
	onEach(t, overStdio, func(t *testing.T, w wire) {
		s, lines := w.roll(t)
		var cancel atomic.Pointer[context.CancelFunc]
		c := newClient(t, &mcp.Options{OnStray: func(_ string, kind mcp.Stray) {
			if kind == mcp.DuplicateAnswer {
				(*cancel.Load())()
			}
		}})
		const calls = 100
		for range calls {
			ctx, end := context.WithCancel(t.Context())
			cancel.Store(&end)
			r, err := c.Call(ctx, s, call("work", map[string]any{"twice": true}))
			if err != nil || r.Text != "fine" {
				t.Fatalf("%+v, %v", r, err)
			}
			<-ctx.Done()
		}
		if got := c.Strays(s.ID); got[mcp.DuplicateAnswer] != calls || len(got) != 1 {
			t.Errorf("counted %v", got)
		}
		if told := containing(lines(), "notifications/cancelled"); len(told) > 0 {
			t.Errorf("cancelled what was answered: %s", told)
		}
	})
}

func TestProgressResetsTheIdleClockAndNeverTheMaximum(t *testing.T) {
	eachServer(t, func(t *testing.T, s *router.Server, _ bool) {
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var at []any
		for i := range 60 {
			at = append(at, i+1)
		}
		const idle, maximum = 2 * time.Second, 3 * time.Second
		begun := time.Now()
		_, err := c.Call(t.Context(), s, router.ToolCall{
			Tool: "steps", Arguments: map[string]any{"at": at, "every": 100, "hang": true}, Idle: idle, Max: maximum,
		})
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "maximum" || e.Execution != state.Unknown {
			t.Errorf("%v, clock %q", e, e.Clock)
		}
		if took := time.Since(begun); took < maximum || took > maximum+10*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

// A request id is not idempotence: what runs once under a key runs again without.
func TestANewIDAloneRunsTheMutationAgain(t *testing.T) {
	onEach(t, wires, func(t *testing.T, w wire) {
		s, lines := w.roll(t)
		c := newClient(t, nil)
		for range 2 {
			if _, err := c.Call(t.Context(), s, call("work", map[string]any{"charge": 10})); err != nil {
				t.Fatal(err)
			}
		}
		asked := containing(lines(), `"tools/call"`)
		if len(asked) != 2 {
			t.Fatalf("the tool ran %d times", len(asked))
		}
		first, second := ids.FindString(asked[0]), ids.FindString(asked[1])
		if first == second || fmt.Sprint(numbered(asked[:1])) != strings.ReplaceAll(fmt.Sprint(numbered(asked[1:])), "#2", "#1") {
			t.Errorf("want the same request under two ids, got\n%s\n%s", asked[0], asked[1])
		}
	})
}

func TestARequestThatIsCancelledInItsQueueIsNeverSent(t *testing.T) {
	onEach(t, overStdio, func(t *testing.T, w wire) {
		s, lines := w.roll(t)
		resume := filepath.Join(t.TempDir(), "resume")
		s.Dial.Env[resumeVar] = resume
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const calls = 40 // more than the queue holds
		failed := make(chan *router.CallError, calls)
		begin := func() { // more than the pipe holds
			_, err := c.Call(ctx, s, router.ToolCall{Tool: "work", Max: time.Minute,
				Arguments: map[string]any{"hold": true, "text": strings.Repeat("x", 100<<10)}})
			e, _ := errors.AsType[*router.CallError](err)
			failed <- e
		}
		go begin()
		eventually(t, "the first is being written", func() bool { _, err := os.Stat(resume + ".paused"); return err == nil })
		for range calls - 1 {
			go begin()
		}
		stop := time.AfterFunc(300*time.Millisecond, cancel) // when the queue is full, or nearly
		defer stop.Stop()
		sent := 0
		for range calls {
			if e := <-failed; e == nil || e.Code != router.Cancelled {
				t.Errorf("%v", e)
			} else if e.Execution == state.Unknown {
				sent++
			}
		}
		if err := os.WriteFile(resume, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(t.Context(), s, call("work", nil)); err != nil {
			t.Error(err)
		}
		// The notice goes out beside the calls, so the one after it may overtake it.
		eventually(t, "the server is told", func() bool { return len(containing(lines(), "notifications/cancelled")) > 0 })
		asked, told := containing(lines(), `"hold":true`), containing(lines(), "notifications/cancelled")
		if sent != 1 || len(asked) != 1 || len(told) != 1 {
			t.Errorf("%d may have been sent, %d were, and %d cancelled", sent, len(asked), len(told))
		}
	})
}

func TestInitializeIsNeverCancelled(t *testing.T) {
	onEach(t, []wire{wires[1], wires[3]}, func(t *testing.T, w wire) { // of the earlier era
		s, lines := w.roll(t)
		var h *scripted
		if w.stdio {
			s.Dial.Env[muteVar] = "initialize"
		} else {
			h = &scripted{initialize: func(r *http.Request) { <-r.Context().Done() }}
			s, _ = raw(t, h)
		}
		asked := func() int { return len(containing(lines(), `"initialize"`)) }
		for patience := 300 * time.Millisecond; patience < within; patience *= 2 { // a child may take long to begin
			c := mcp.New(&mcp.Options{ConnectTimeout: patience})
			_, err := c.Call(t.Context(), s, call("work", nil))
			if e := callError(t, err); e.Code != router.Transport || e.Execution != state.NotExecuted {
				t.Errorf("%v, %s", e, e.Execution)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if !w.stdio || asked() > 0 {
				break
			}
		}
		if w.stdio {
			if told := containing(lines(), "notifications"); len(told) > 0 || asked() != 1 {
				t.Errorf("%q", lines())
			}
		} else if _, _, told := h.saw(); len(told) > 0 {
			t.Errorf("posted %s", told)
		}
	})
}
