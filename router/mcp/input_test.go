package mcp_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// sent is what a [questioner] saw of a call, which its answer repeats.
func sent(t *testing.T, r *router.ToolResult, err error) (p struct {
	State     *string                    `json:"requestState"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
	Arguments json.RawMessage            `json:"arguments"`
	Meta      map[string]json.RawMessage `json:"_meta"`
}) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(r.Text), &p); err != nil {
		t.Fatalf("%q: %v", r.Text, err)
	}
	return p
}

func TestAQuestionInTheMiddleOfACallIsItsResultAndTheAnswerGoesOnWithIt(t *testing.T) {
	eachQuestioner(t, true, func(t *testing.T, s *router.Server) {
		c := newClient(t, nil)
		ask := call("asks", map[string]any{"n": 1})
		ask.MayAsk = true
		r, err := c.Call(t.Context(), s, ask)
		if err != nil || r.Input == nil || r.Content != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := string(r.Input.Requests["where"]); len(r.Input.Requests) != 1 || got != elicit {
			t.Errorf("the request is not as it was: %s", got)
		}
		var want string
		if err := json.Unmarshal([]byte(askedState), &want); err != nil {
			t.Fatal(err)
		}
		if r.Input.State == nil || *r.Input.State != want {
			t.Fatalf("the state is not as it was: %q", *r.Input.State)
		}
		again := newClient(t, nil) // days later, elsewhere
		ask.Input = &router.InputAnswers{State: r.Input.State, Responses: map[string]json.RawMessage{
			"where": json.RawMessage("{\"action\":\"accept\",\n\"content\":{\"z\":\"Rome\"}}"),
		}}
		r, err = again.Call(t.Context(), s, ask)
		p := sent(t, r, err)
		if p.State == nil || *p.State != want {
			t.Errorf("the state came back as %v", p.State)
		}
		if got := string(p.Responses["where"]); len(p.Responses) != 1 || strings.ReplaceAll(got, "\n", "") != `{"action":"accept","content":{"z":"Rome"}}` {
			t.Errorf("the answers came as %s", got)
		}
		if string(p.Arguments) != `{"n":1}` {
			t.Errorf("the arguments came as %s", p.Arguments)
		}
		if got := string(p.Meta["io.modelcontextprotocol/clientCapabilities"]); got != `{"elicitation":{"form":{},"url":{}}}` {
			t.Errorf("the server was told that we can do %s", got)
		}
	})
}

func TestAServerThatKeepsNoStateGetsNoneBack(t *testing.T) {
	eachQuestioner(t, true, func(t *testing.T, s *router.Server) {
		c := newClient(t, nil)
		ask := call("asks statelessly", nil)
		ask.MayAsk = true
		r, err := c.Call(t.Context(), s, ask)
		if err != nil || r.Input == nil || r.Input.State != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		ask.Input = &router.InputAnswers{Responses: map[string]json.RawMessage{"where": json.RawMessage(`{"action":"decline"}`)}}
		r, err = c.Call(t.Context(), s, ask)
		if p := sent(t, r, err); p.State != nil || string(p.Responses["where"]) != `{"action":"decline"}` {
			t.Errorf("came back: %v, %s", p.State, p.Responses)
		}
	})
}

func TestWhatCannotBeServedInTheMiddleOfACallIsNoResult(t *testing.T) {
	eachQuestioner(t, true, func(t *testing.T, s *router.Server) {
		c := newClient(t, nil)
		for tool, tc := range map[string]struct {
			mayAsk bool
			says   string
		}{
			"asks":          {false, "was not offered"},
			"samples":       {true, "sampling/createMessage"},
			"roots":         {true, "roots/list"},
			"asks nothing":  {true, "does not say for what"},
			"asks nonsense": {true, `"where" with what is no request`},
			"is odd":        {true, `unknown type "later"`},
			"asks a lot":    {true, "more in the middle of the call than can be kept"},
		} {
			ask := call(tool, nil)
			ask.MayAsk = tc.mayAsk
			_, err := c.Call(t.Context(), s, ask)
			if e := callError(t, err); e.Code != router.OutputInvalid || e.Execution != state.Unknown || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%s: %v %s", tool, e, e.Execution)
			}
		}
	})
}

func TestAServerWithoutTimeIsAskedAgainWithItsState(t *testing.T) {
	eachQuestioner(t, true, func(t *testing.T, s *router.Server) {
		c := newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 10 * time.Millisecond}})
		again := call("sheds", nil)
		again.Input = &router.InputAnswers{Responses: map[string]json.RawMessage{"where": json.RawMessage(`{"action":"cancel"}`)}}
		r, err := c.Call(t.Context(), s, again)
		p := sent(t, r, err)
		if p.State == nil || *p.State != "3" {
			t.Errorf("the last request carries state %v", p.State)
		}
		if len(p.Responses) != 1 {
			t.Errorf("the answers were lost: %s", slices.Collect(maps.Keys(p.Responses)))
		}
	})
}

func TestAServerThatNeverHasTimeIsLeftToTheClocks(t *testing.T) {
	eachQuestioner(t, true, func(t *testing.T, s *router.Server) {
		c := newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 10 * time.Millisecond}})
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		never := call("sheds always", nil)
		never.Idle, never.Max = 0, 300*time.Millisecond
		_, err := c.Call(t.Context(), s, never)
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "maximum" || e.Execution != state.Unknown {
			t.Errorf("%v, clock %s, %s", e, e.Clock, e.Execution)
		}
	})
}

func TestAnswersAreNotGivenToAProtocolThatKnowsNone(t *testing.T) {
	eachQuestioner(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, nil)
		ask := call("pings", nil)
		ask.Input = &router.InputAnswers{Responses: map[string]json.RawMessage{"where": json.RawMessage(`{}`)}}
		_, err := c.Call(t.Context(), s, ask)
		if e := callError(t, err); e.Code != router.VersionUnsupported || e.Execution != state.NotExecuted {
			t.Errorf("%v %s", e, e.Execution)
		}
	})
}

func TestATasksQuestionIsAnsweredToTheTask(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: true, dir: t.TempDir()}
			s := stdioServer(t, "tasks, modern")
			s.Dial.Env[taskDir] = tasks.dir
			if transport == "http" {
				s, _ = raw(t, tasks)
			}
			c := newClient(t, nil)
			recorded := make(chan state.RemoteTask, 1)
			ask := long(recorded)
			ask.MayAsk = true
			task, over := begin(t.Context(), t, c, s, ask, recorded)
			tasks.set(task.ID, `{"status":"input_required","inputRequests":{"where":`+elicit+`}}`)
			r, err := wait(t, over)
			if err != nil || r.Input == nil || string(r.Input.Requests["where"]) != elicit || r.Input.State != nil {
				t.Fatalf("%+v, %v", r, err)
			}
			again := newClient(t, nil) // days later, elsewhere
			ask.Attach, ask.OnTask = &task, func(context.Context, state.RemoteTask) error { t.Error("recorded again"); return nil }
			ask.Input = &router.InputAnswers{Responses: map[string]json.RawMessage{"where": json.RawMessage(`{"action":"accept","content":{"z":"Rome"}}`)}}
			asked := tasks.asked("tasks/get")
			over = make(chan ended, 1)
			go func() {
				r, err := again.Call(t.Context(), s, ask)
				over <- ended{r, err}
			}()
			// The task shows the question for a while after it was answered.
			eventually(t, "questions about the task after the answer", func() bool { return tasks.asked("tasks/get") > asked+2 })
			if !strings.Contains(tasks.logged(), `tasks/update {"where":{"action":"accept","content":{"z":"Rome"}}}`) {
				t.Errorf("the answer did not come:\n%s", tasks.logged())
			}
			tasks.set(task.ID, `{"status":"input_required","inputRequests":{"where":`+elicit+`,"when":`+elicit+`}}`)
			r, err = wait(t, over)
			if err != nil || r.Input == nil || len(r.Input.Requests) != 1 || r.Input.Requests["when"] == nil {
				t.Fatalf("an answered question is put again: %+v, %v", r, err)
			}
			tasks.set(task.ID, done)
			ask.Input = nil
			r, err = c.Call(t.Context(), s, ask)
			structured(t, r, err)
			if n := tasks.asked("tools/call"); n != 1 {
				t.Errorf("the tool was called %d times", n)
			}
			if n := tasks.asked("tasks/update"); n != 1 {
				t.Errorf("the answer was given %d times", n)
			}
		})
	}
}

func TestATaskThatAsksWhatNobodyCanGiveIsCancelled(t *testing.T) {
	for name, tc := range map[string]struct{ request, says string }{
		"nobody there": {elicit, "was not offered"},
		"sampling":     {`{"method":"sampling/createMessage","params":{}}`, "sampling/createMessage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: true, dir: t.TempDir()}
			s, _ := raw(t, tasks)
			c := newClient(t, nil)
			recorded := make(chan state.RemoteTask, 1)
			task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
			tasks.set(task.ID, `{"status":"input_required","inputRequests":{"x":`+tc.request+`}}`)
			_, err := wait(t, over)
			if e := callError(t, err); e.Code != router.OutputInvalid || e.Execution != state.Unknown || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%v %s", e, e.Execution)
			}
			eventually(t, "tasks/cancel", func() bool { return tasks.asked("tasks/cancel") == 1 })
			tasks.set(task.ID, `{"status":"cancelled"}`)
		})
	}
}
