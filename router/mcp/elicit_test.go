package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func asking() *mcp.Options { return &mcp.Options{Elicitation: true} }

func accepts(content string) func(context.Context, router.Question) (router.QuestionAnswer, error) {
	return func(context.Context, router.Question) (router.QuestionAnswer, error) {
		return router.QuestionAnswer{Action: "accept", Content: json.RawMessage(content)}, nil
	}
}

func TestAnElicitationIsPutToAPersonWhileItsCallIsOpen(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		ask := call("asks", nil)
		var got router.Question
		ask.Ask = func(_ context.Context, q router.Question) (router.QuestionAnswer, error) {
			got = q
			return router.QuestionAnswer{Action: "accept", Content: json.RawMessage(`{"z":"Rome"}`)}, nil
		}
		r, err := c.Call(t.Context(), s, ask)
		if err != nil || r.Text != `{"action":"accept","content":{"z":"Rome"}}` {
			t.Errorf("the server was answered %+v, %v", r, err)
		}
		if got.Message != "Where to?" || got.URL != "" {
			t.Errorf("the person was asked %+v", got)
		}
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(got.Schema, &schema); err != nil || schema.Properties["a"].Type != "integer" {
			t.Errorf("the person was shown the schema %s", got.Schema)
		}
		ask.Tool = "asks to open"
		ask.Ask = func(_ context.Context, q router.Question) (router.QuestionAnswer, error) {
			got = q
			return router.QuestionAnswer{Action: "accept", Content: json.RawMessage(`{"not":"sent"}`)}, nil
		}
		r, err = c.Call(t.Context(), s, ask)
		if err != nil || r.Text != `{"action":"accept"}` {
			t.Errorf("the server was answered %+v, %v", r, err)
		}
		if diff := cmp.Diff(router.Question{Message: "Log in", URL: "https://example.com/in"}, got); diff != "" {
			t.Error(diff)
		}
		r, err = c.Call(t.Context(), s, call("was told", nil))
		if err != nil || r.Text != `{"elicitation":{"form":{},"url":{}}}` {
			t.Errorf("the server was told that we can do %+v, %v", r, err)
		}
	})
}

func TestWhatIsNotServedIsDeclinedAtOnce(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		for tool, says := range map[string]string{
			"samples": `"code":-32601`, "roots": `"code":-32601`, "pings": `{}`, "asks oddly": `"code":-32602`,
			"asks": `{"action":"decline","_meta":{"dev.junction/reason":"nobody can be asked during this call"}}`,
		} {
			if r, err := c.Call(t.Context(), s, call(tool, nil)); err != nil || !strings.Contains(r.Text, says) {
				t.Errorf("%s: the server was answered %+v, %v", tool, r, err)
			}
		}
	})
}

func TestWithoutTheOptionElicitationIsNeitherAdvertisedNorServed(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, nil)
		ask := call("asks", nil)
		ask.Ask = func(context.Context, router.Question) (router.QuestionAnswer, error) {
			t.Error("a person was asked")
			return router.QuestionAnswer{}, nil
		}
		if r, err := c.Call(t.Context(), s, ask); err != nil || !strings.Contains(r.Text, `"code":-32601`) {
			t.Errorf("the server was answered %+v, %v", r, err)
		}
		if r, err := c.Call(t.Context(), s, call("was told", nil)); err != nil || strings.Contains(r.Text, "elicitation") {
			t.Errorf("the server was told that we can do %+v, %v", r, err)
		}
	})
}

func TestAnAnswerThatIsNoneCancelsTheQuestionAndNotTheCall(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		for name, ask := range map[string]func(context.Context, router.Question) (router.QuestionAnswer, error){
			"an error": func(context.Context, router.Question) (router.QuestionAnswer, error) {
				return router.QuestionAnswer{}, errors.New("no terminal")
			},
			"a panic": func(context.Context, router.Question) (router.QuestionAnswer, error) { panic("no terminal") },
			"no action": func(context.Context, router.Question) (router.QuestionAnswer, error) {
				return router.QuestionAnswer{}, nil
			},
			"no object":   accepts(`"Rome"`),
			"half an one": accepts(`{"z":`),
		} {
			q := call("asks", nil)
			q.Ask = ask
			if r, err := c.Call(t.Context(), s, q); err != nil || r.Text != `{"action":"cancel"}` {
				t.Errorf("%s: the server was answered %+v, %v", name, r, err)
			}
		}
	})
}

func TestTheIdleClockStandsStillWhileAPersonIsAskedAndTheMaximumDoesNot(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		ask := call("asks", nil)
		ask.Idle = 300 * time.Millisecond
		ask.Ask = func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
			select {
			case <-time.After(3 * ask.Idle): // a person thinks
			case <-ctx.Done():
			}
			return router.QuestionAnswer{Action: "decline"}, nil
		}
		if r, err := c.Call(t.Context(), s, ask); err != nil || r.Text != `{"action":"decline"}` {
			t.Errorf("the server was answered %+v, %v", r, err)
		}
		// An elicitation nobody answers.
		ask.Max = 600 * time.Millisecond
		ended := make(chan struct{})
		ask.Ask = func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
			<-ctx.Done()
			close(ended)
			return router.QuestionAnswer{}, ctx.Err()
		}
		_, err := c.Call(t.Context(), s, ask)
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "maximum" || e.Execution != state.Unknown {
			t.Errorf("%v, clock %s, %s", e, e.Clock, e.Execution)
		}
		select {
		case <-ended:
		case <-time.After(within):
			t.Error("the person is asked for ever")
		}
	})
}

func TestWhoeverAsksWhenItsCallHasEndedIsAnsweredCancel(t *testing.T) {
	t.Parallel()
	q := newQuestioner(false)
	s, _ := raw(t, q)
	c := newClient(t, asking())
	ask := call("asks", nil)
	asked := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ask.Ask = func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
		close(asked)
		<-ctx.Done()
		return router.QuestionAnswer{Action: "accept"}, nil // too late
	}
	go func() {
		<-asked
		cancel()
	}()
	_, err := c.Call(ctx, s, ask)
	if e := callError(t, err); e.Code != router.Cancelled {
		t.Error(e)
	}
	eventually(t, "the answer to the question", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return string(q.answers["q1"]) == `{"action":"cancel"}`
	})
}

func TestAQuestionOfOneOfSeveralCallsIsPutOnlyWhereItsCallIsKnown(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		release, first := make(chan struct{}), make(chan struct{})
		ask := call("asks", nil)
		ask.Ask = func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
			close(first)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return router.QuestionAnswer{Action: "accept", Content: json.RawMessage(`{"z":"first"}`)}, nil
		}
		over := make(chan ended, 1)
		go func() {
			r, err := c.Call(t.Context(), s, ask)
			over <- ended{r, err}
		}()
		<-first
		second := call("asks", nil)
		second.Ask = accepts(`{"z":"second"}`)
		r, err := c.Call(t.Context(), s, second)
		if err != nil {
			t.Fatal(err)
		}
		// Over HTTP the question comes on its call's stream.
		if s.Dial.URL != "" && r.Text != `{"action":"accept","content":{"z":"second"}}` ||
			s.Dial.URL == "" && !strings.Contains(r.Text, "several calls are open") {
			t.Errorf("the second call's question was answered %s", r.Text)
		}
		close(release)
		r, err = wait(t, over)
		if err != nil || r.Text != `{"action":"accept","content":{"z":"first"}}` {
			t.Errorf("the first call's question was answered %+v, %v", r, err)
		}
	})
}

func TestACallsQuestionsArePutOneAfterAnother(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		ask := call("asks twice", nil)
		var at, most, all atomic.Int32
		ask.Ask = func(context.Context, router.Question) (router.QuestionAnswer, error) {
			all.Add(1)
			most.Store(max(most.Load(), at.Add(1)))
			<-time.After(20 * time.Millisecond)
			at.Add(-1)
			return router.QuestionAnswer{Action: "decline"}, nil
		}
		r, err := c.Call(t.Context(), s, ask)
		if err != nil || r.Text != `{"action":"decline"} {"action":"decline"}` {
			t.Errorf("%+v, %v", r, err)
		}
		if most.Load() != 1 || all.Load() != 2 {
			t.Errorf("%d questions, %d at once", all.Load(), most.Load())
		}
	})
}

func TestAQuestionThatIsStillOpenWhenItsCallIsAnsweredHoldsNothingUp(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		ask := call("asks and goes", nil)
		ask.Ask = func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
			<-ctx.Done()
			return router.QuestionAnswer{}, ctx.Err()
		}
		if r, err := c.Call(t.Context(), s, ask); err != nil || r.Text != "gone" {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := c.Call(t.Context(), s, call("pings", nil)); err != nil || r.Text != "{}" {
			t.Errorf("the next call: %+v, %v", r, err)
		}
	})
}

func TestATaskOfTheEarlierEraAsksOverTheStreamOfItsResult(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		// Another call is open that could be meant.
		release, begun := make(chan struct{}), make(chan struct{})
		other := call("asks", nil)
		other.Ask = func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
			close(begun)
			<-release
			return router.QuestionAnswer{Action: "decline"}, nil
		}
		over := make(chan ended, 1)
		go func() {
			r, err := c.Call(t.Context(), s, other)
			over <- ended{r, err}
		}()
		<-begun
		recorded := make(chan state.RemoteTask, 1)
		ask := long(recorded)
		ask.Tool, ask.Ask = "asks as a task", accepts(`{"z":"Rome"}`)
		r, err := c.Call(t.Context(), s, ask)
		if err != nil || r.Text != `{"action":"accept","content":{"z":"Rome"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}` {
			t.Errorf("%+v, %v", r, err)
		}
		close(release)
		if r, err := wait(t, over); err != nil || r.Text != `{"action":"decline"}` {
			t.Errorf("the other call: %+v, %v", r, err)
		}
	})
}

func TestATaskThatWasAnsweredIsLookedAfterWhileItsResultIsHeldBack(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, asking())
		recorded := make(chan state.RemoteTask, 1)
		ask := long(recorded)
		ask.Tool, ask.Ask = "asks as a task and works", accepts(`{"z":"Rome"}`)
		ask.Idle = 500 * time.Millisecond // it works for longer, and says so
		r, err := c.Call(t.Context(), s, ask)
		if err != nil || !strings.HasPrefix(r.Text, `{"action":"accept","content":{"z":"Rome"}`) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
