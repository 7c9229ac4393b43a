package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

func TestHowATaskEndedBecomesOneOfTheCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		members string
		code    router.Code
		rpc     int
		says    string
		legacy  string // members in the earlier era; "": the same
	}{
		"an error":          {`{"status":"failed","error":{"code":-32603,"message":"no disk"}}`, router.ServerError, -32603, "no disk", ""},
		"a refusal":         {`{"status":"failed","error":{"code":-32602,"message":"no such city"}}`, router.CapabilityMismatch, -32602, "no such city", ""},
		"cancelled there":   {`{"status":"cancelled","statusMessage":"by an operator"}`, router.ServerError, 0, "by an operator", ""},
		"an unknown status": {`{"status":"sleeping"}`, router.OutputInvalid, 0, "sleeping", ""},
		"a broken schema":   {`{"status":"completed","result":{"content":[],"structuredContent":{"n":"many"}}}`, router.OutputInvalid, 0, "output schema", ""},
		"half a result":     {`{"status":"completed","result":{"isError":3}}`, router.OutputInvalid, 0, "isError", ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
				c := newClient(t, nil)
				recorded := make(chan state.RemoteTask, 1)
				task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
				tasks.set(task.ID, tc.members)
				_, err := wait(t, over)
				e := callError(t, err)
				if e.Code != tc.code || e.Execution != state.Unknown || e.RPCCode != tc.rpc || !strings.Contains(e.Message, tc.says) {
					t.Errorf("%v, %s, rpc %d; want %s with %q", e, e.Execution, e.RPCCode, tc.code, tc.says)
				}
			})
		})
	}
}

func TestATasksOwnErrorIsAResult(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
		status := "completed"
		if !tasks.modern {
			status = "failed"
		}
		tasks.set(task.ID, fmt.Sprintf(`{"status":%q,"result":{"content":[{"type":"text","text":"the disk is full"}],"isError":true}}`, status))
		if r, err := wait(t, over); err != nil || !r.IsError || r.Text != "the disk is full" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestATaskThatTheServerDoesNotKnowIsOfUnknownExecution(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		lost := call("long", nil)
		lost.Attach = &state.RemoteTask{ID: "task-99"}
		_, err := c.Call(t.Context(), s, lost)
		if e := callError(t, err); e.Code != router.ServerError || e.Execution != state.Unknown || e.RPCCode != -32602 {
			t.Errorf("%v %s, rpc %d", e, e.Execution, e.RPCCode)
		}
		if tasks.asked("tools/call") != 0 || tasks.asked("tasks/cancel") != 0 {
			t.Errorf("more was sent than a question:\n%s", tasks.logged())
		}
	})
}

func TestATaskSurvivesTheSessionInWhichItBegan(t *testing.T) {
	t.Parallel()
	tasks := &taskServer{dir: t.TempDir()}
	var session atomic.Int32
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, r := peek(r)
		now := fmt.Sprintf("session-%d", session.Load())
		switch {
		case strings.Contains(body, `"method":"initialize"`):
			w.Header().Set("Mcp-Session-Id", now)
		case strings.Contains(body, `"method":"tasks/`) && r.Header.Get("Mcp-Session-Id") != now:
			http.NotFound(w, r)
			return
		}
		tasks.ServeHTTP(w, r)
	}))
	c := newClient(t, nil)
	recorded := make(chan state.RemoteTask, 1)
	task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
	session.Add(1)
	asked := tasks.asked("tasks/get")
	eventually(t, "a question in a new session", func() bool { return tasks.asked("tasks/get") > asked && tasks.asked("initialize") == 2 })
	tasks.set(task.ID, done)
	r, err := wait(t, over)
	structured(t, r, err)
	if n := tasks.asked("tools/call"); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}

func TestATaskIsWaitedForAlthoughItsServerWasForgotten(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
		c.Forget(s.ID)
		asked := tasks.asked("tasks/get")
		eventually(t, "a question about the task", func() bool { return tasks.asked("tasks/get") > asked })
		tasks.set(task.ID, done)
		r, err := wait(t, over)
		structured(t, r, err)
		if n := tasks.asked("tools/list"); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestWhatATaskSaysOfItselfIsTold(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		told := make(chan string, 10)
		telling := long(recorded)
		telling.Progress = func(_, _ float64, message string) { told <- message }
		task, over := begin(t.Context(), t, c, s, telling, recorded)
		eventually(t, "a first look", func() bool { return tasks.asked("tasks/get") > 0 })
		tasks.set(task.ID, `{"status":"working","statusMessage":"half\u001b[31m way"}`)
		select {
		case message := <-told:
			if message != "half[31m way" {
				t.Errorf("told %q", message)
			}
		case <-time.After(within):
			t.Error("nothing was told")
		}
		tasks.set(task.ID, done)
		r, err := wait(t, over)
		structured(t, r, err)
	})
}

func TestATaskThatWasNotOfferedIsNoResult(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		result := `{"task":{"taskId":"t","status":"working"}}`
		if modern {
			result = `{"resultType":"task","taskId":"t","status":"working"}`
		}
		s, _ := raw(t, &scripted{modern: modern, call: func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, result) }})
		_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); e.Code != router.OutputInvalid || e.Execution != state.Unknown {
			t.Errorf("modern %v: %v %s", modern, e, e.Execution)
		}
	}
}
