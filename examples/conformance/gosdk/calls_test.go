package gosdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"junction/router"
	"junction/state"
)

func TestTheHandshakeFindsTheEraAndTheTools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, era string) {
		d, err := client(t).Describe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != "counter" || d.Version != "1.8.0" || d.ProtocolVersion != era || d.Modern != (era == "2026-07-28") {
			t.Errorf("%s %s speaks %s (modern %v), want %s", d.Name, d.Version, d.ProtocolVersion, d.Modern, era)
		}
		at := slices.IndexFunc(d.Tools, func(t router.Tool) bool { return t.Name == "add" })
		if at < 0 || !strings.Contains(string(d.Tools[at].InputSchema), `"a"`) || !strings.Contains(string(d.Tools[at].OutputSchema), `"sum"`) {
			t.Errorf("tools %+v", d.Tools)
		}
	})
}

func TestStructuredResultsArriveExactly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		call := tool("add")
		// Beyond 2⁵³ the SDK's own reading rounds.
		call.Arguments = map[string]any{"a": int64(1)<<53 - 2, "b": int64(1)}
		r, err := client(t).Call(t.Context(), s, call)
		if err != nil {
			t.Fatal(err)
		}
		answer, ok := r.Structured.(map[string]any)
		if !ok || answer["sum"] != int64(1)<<53-1 || r.IsError {
			t.Errorf("answer %#v", r)
		}
	})
}

func TestManyCallsAtOnceEachGetTheirOwnAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		c := client(t)
		var group errgroup.Group
		answers := make([]any, 64)
		for i := range answers {
			group.Go(func() error {
				call := tool("add")
				call.Arguments = map[string]any{"a": int64(i), "b": int64(1000)}
				r, err := c.Call(t.Context(), s, call)
				if err != nil {
					return err
				}
				answers[i] = r.Structured.(map[string]any)["sum"]
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, got := range answers {
			if got != int64(i)+1000 {
				t.Errorf("call %d got %v", i, got)
			}
		}
	})
}

func TestAToolsOwnErrorIsAResultAndAProtocolErrorIsNot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		c := client(t)
		r, err := c.Call(t.Context(), s, tool("fail"))
		if err != nil || !r.IsError || r.Text != "out of paper" {
			t.Errorf("fail: %+v, %v", r, err)
		}
		_, err = c.Call(t.Context(), s, tool("refuse"))
		e := failure(t, err)
		if e.RPCCode != -31001 || e.Execution != state.Unknown || !strings.Contains(fmt.Sprint(e.Data), "Monday") || !strings.Contains(e.Message, "closed on Sundays") {
			t.Errorf("refuse: %+v", e)
		}
		_, err = c.Call(t.Context(), s, tool("nothing"))
		if e := failure(t, err); e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted {
			t.Errorf("a tool that is not there: %+v", e)
		}
		call := tool("add")
		call.Arguments = map[string]any{"a": "one", "b": int64(1)}
		if r, err := c.Call(t.Context(), s, call); err == nil && !r.IsError || err != nil && failure(t, err).Execution != state.NotExecuted {
			t.Errorf("arguments that break the schema: %+v, %v", r, err)
		}
	})
}

// reports collects what a call says of its progress.
type reports struct {
	mu    sync.Mutex
	seen  []float64
	first chan struct{}
	once  sync.Once
}

func (r *reports) take(progress, _ float64, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, progress)
	r.once.Do(func() { close(r.first) })
}

func (r *reports) all() []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// eventually asks the server about its calls of work until one of them was what is
// asked for, "begun" or "stopped", or half a minute has passed.
func eventually(t *testing.T, c router.Caller, s *router.Server, what string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := c.Call(t.Context(), s, tool("worked"))
		if err != nil {
			t.Fatalf("the next call: %v", err)
		}
		if r.Structured.(map[string]any)[what] == int64(1) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no call of work is %s: %v", what, r.Structured)
		}
		<-tick.C
	}
}

func TestACancelReachesTheWorkAndTheConnectionStaysGood(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		c, seen := client(t), &reports{first: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		call := tool("work")
		call.Progress = seen.take
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, s, call)
			ended <- err
		}()
		if eventually(t, c, s, "begun"); !silent(t) {
			await(t, seen.first)
		}
		cancel()
		select {
		case err := <-ended:
			if e := failure(t, err); e.Code != router.Cancelled || e.Execution != state.Unknown {
				t.Errorf("%+v", e)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the cancelled call does not end")
		}
		eventually(t, c, s, "stopped")
		if got := seen.all(); !slices.IsSorted(got) {
			t.Errorf("progress %v", got)
		}
	})
}

// silent says whether the way of the subtest shows no progress: the server answers
// with one document.
func silent(t *testing.T) bool { return strings.HasSuffix(t.Name(), "without_streams") }

func await(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(20 * time.Second):
		t.Fatal("no progress")
	}
}

func TestTheMaximumEndsWhatProgressKeepsAliveOnBothSides(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		c := client(t)
		if _, err := c.Describe(t.Context(), s); err != nil { // the handshake is not what is timed
			t.Fatal(err)
		}
		call := tool("work")
		call.Idle, call.Max = 5*time.Second, 700*time.Millisecond
		call.Progress = func(float64, float64, string) {}
		_, err := c.Call(t.Context(), s, call)
		if e := failure(t, err); e.Code != router.Timeout || e.Clock != "maximum" || e.Execution != state.Unknown {
			t.Errorf("%+v", e)
		}
		eventually(t, c, s, "stopped")
	})
}

func TestAQuestionInTheMiddleOfACallIsAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, era string) {
		if silent(t) {
			t.Skip("the server cannot ask where it answers with one document")
		}
		c, call := client(t), tool("ask")
		call.MayAsk = true
		call.Ask = func(_ context.Context, q router.Question) (router.QuestionAnswer, error) {
			if q.Message != "Who are you?" || !strings.Contains(string(q.Schema), `"name"`) {
				t.Errorf("question %+v", q)
			}
			return router.QuestionAnswer{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
		}
		r, err := c.Call(t.Context(), s, call)
		if err != nil {
			t.Fatal(err)
		}
		if era == "2026-07-28" { // the question is the result, and the answer another call
			if r.Input == nil || len(r.Input.Requests) != 1 || r.Input.State == nil || *r.Input.State != "asked once" {
				t.Fatalf("result %+v", r)
			}
			call.Input = &router.InputAnswers{
				Responses: map[string]json.RawMessage{"name": json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)},
				State:     r.Input.State,
			}
			if r, err = c.Call(t.Context(), s, call); err != nil {
				t.Fatal(err)
			}
		}
		if r.Text != "hello Ada (asked once)" || r.IsError || r.Input != nil {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestAQuestionThatNobodyCanBeAskedIsDeclined(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, era string) {
		if silent(t) {
			t.Skip("the server cannot ask where it answers with one document")
		}
		r, err := client(t).Call(t.Context(), s, tool("ask"))
		if era == "2026-07-28" {
			if e := failure(t, err); e.Code != router.OutputInvalid || e.Execution != state.Unknown {
				t.Errorf("%+v", e)
			}
			return
		}
		if err != nil || r.Text != "decline" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// The server tells of its new tool: in the later era on a subscription, in the
// earlier one on a stream of its own.
func TestAToolThatAppearsIsSeenWithinTheSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		c := client(t)
		first, err := c.Describe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(t.Context(), s, tool("grow")); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(20 * time.Second)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			d, err := c.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(d.Tools, func(t router.Tool) bool { return t.Name == "grown" }) {
				if d.Session.ID != first.Session.ID {
					t.Error("another session was needed for it")
				}
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the new tool is not seen")
			}
			<-tick.C
		}
	})
}
