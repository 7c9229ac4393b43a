package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// within is how long a test waits for what must happen.
const within = 20 * time.Second

const done = `{"status":"completed","result":{"content":[],"structuredContent":{"n":7}}}`

// long is a call of the tool that becomes a task; recorded gets it.
func long(recorded chan state.RemoteTask) router.ToolCall {
	c := call("long", nil)
	c.OnTask = func(_ context.Context, t state.RemoteTask) error {
		recorded <- t
		return nil
	}
	return c
}

// ended is how a call ended.
type ended struct {
	result *router.ToolResult
	err    error
}

// begin makes a call and returns once its task is recorded.
func begin(t *testing.T, ctx context.Context, c *mcp.Client, s *router.Server, call router.ToolCall, recorded chan state.RemoteTask) (state.RemoteTask, chan ended) {
	t.Helper()
	over := make(chan ended, 1)
	go func() {
		r, err := c.Call(ctx, s, call)
		over <- ended{r, err}
	}()
	select {
	case task := <-recorded:
		return task, over
	case e := <-over:
		t.Fatalf("the call ended before a task was recorded: %+v, %v", e.result, e.err)
	case <-time.After(within):
		t.Fatal("no task was recorded")
	}
	panic("unreachable")
}

func wait(t *testing.T, over chan ended) (*router.ToolResult, error) {
	t.Helper()
	select {
	case e := <-over:
		return e.result, e.err
	case <-time.After(within):
		t.Fatal("the call did not end")
	}
	panic("unreachable")
}

func structured(t *testing.T, r *router.ToolResult, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(map[string]any{"n": int64(7)}), r.Structured); diff != "" {
		t.Error(diff)
	}
}

func TestATaskIsRecordedThenWaitedForUntilItHasEnded(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
		if task.ID != "task-1" || task.TTL != time.Minute || task.Poll != 50*time.Millisecond || time.Since(task.Created) > within {
			t.Errorf("recorded as %+v", task)
		}
		eventually(t, "a second question about the task", func() bool { return tasks.asked("tasks/get") > 1 })
		tasks.set(task.ID, done)
		r, err := wait(t, over)
		structured(t, r, err)
		if n := tasks.asked("tools/call"); n != 1 {
			t.Errorf("the tool was called %d times", n)
		}
		if n := tasks.asked("tasks/cancel"); n != 0 {
			t.Errorf("a task that was waited for was cancelled %d times", n)
		}
		if !tasks.modern && !strings.Contains(tasks.logged(), `tools/call {"ttl":3610000}`) {
			t.Errorf("the server was not asked to keep the task for a run that is resumed:\n%s", tasks.logged())
		}
	})
}

func TestWithoutSomebodyToRecordItNoTaskIsMade(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		r, err := c.Call(t.Context(), s, call("long", nil))
		if tasks.modern {
			if err != nil || r.Text != "no task" {
				t.Errorf("%+v, %v", r, err)
			}
		} else if e := callError(t, err); e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted {
			t.Errorf("%v %s", e, e.Execution)
		}
		if tasks.asked("tasks/get") != 0 {
			t.Error("a task was asked for")
		}
	})
}

func TestAToolThatNeedsNoTaskBecomesOneWhenItMayRunLong(t *testing.T) {
	t.Parallel()
	tasks := &taskServer{dir: t.TempDir()}
	s, _ := raw(t, tasks)
	c := newClient(t, nil)
	recorded := make(chan state.RemoteTask, 1)
	quick := long(recorded)
	quick.Tool = "either"
	if r, err := c.Call(t.Context(), s, quick); err != nil || r.Text != "no task" {
		t.Errorf("%+v, %v", r, err)
	}
	slow := quick
	slow.Max = time.Hour
	task, over := begin(t, t.Context(), c, s, slow, recorded)
	tasks.set(task.ID, done)
	r, err := wait(t, over)
	structured(t, r, err)
}

// A task stays non-terminal after tasks/cancel until the worker acts.
func TestATaskStaysNonTerminalAfterTasksCancelUntilTheWorkerActs(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		var late atomic.Int32
		c := newClient(t, &mcp.Options{OnStray: func(_ string, kind mcp.Stray) {
			if kind == mcp.LateAnswer {
				late.Add(1)
			}
		}})
		recorded := make(chan state.RemoteTask, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		task, over := begin(t, ctx, c, s, long(recorded), recorded)
		eventually(t, "a question about the task", func() bool { return tasks.asked("tasks/get") > 0 })
		cancel()
		_, err := wait(t, over) // although the task runs
		if e := callError(t, err); e.Code != router.Cancelled || e.Execution != state.Unknown {
			t.Errorf("%v %s", e, e.Execution)
		}
		eventually(t, "tasks/cancel", func() bool { return tasks.asked("tasks/cancel") == 1 })
		asked := tasks.asked("tasks/get")
		eventually(t, "more questions about the task", func() bool { return tasks.asked("tasks/get") > asked+2 })
		before := late.Load()    // the answer to a question that was under way may be one
		tasks.set(task.ID, done) // the worker was faster than the cancel
		eventually(t, "the late end", func() bool { return late.Load() == before+1 })
		asked = tasks.asked("tasks/get")
		if n := tasks.asked("tasks/cancel"); n != 1 {
			t.Errorf("%d times cancelled", n)
		}
		end, stop := context.WithTimeout(t.Context(), within)
		defer stop()
		if err := c.Close(end); err != nil {
			t.Fatal(err)
		}
		if n := tasks.asked("tasks/get"); n != asked {
			t.Errorf("an ended task is asked for again:\n%s", tasks.logged())
		}
	})
}

// The connection closing loses nothing.
func TestTheConnectionClosingLosesNothing(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run("stdio, "+era, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: era == "modern", dir: t.TempDir()}
			s := stdioServer(t, "tasks, "+era)
			s.Dial.Env[taskDir] = tasks.dir
			c := newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond}})
			recorded := make(chan state.RemoteTask, 1)
			task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
			tasks.note("exit") // the process ends at its next request
			eventually(t, "another process of the server", func() bool {
				return strings.Count(tasks.logged(), "server/discover") > 1 || strings.Count(tasks.logged(), "initialize") > 1
			})
			asked := tasks.asked("tasks/get")
			eventually(t, "a question to it", func() bool { return tasks.asked("tasks/get") > asked })
			tasks.set(task.ID, done)
			r, err := wait(t, over)
			structured(t, r, err)
			if n := tasks.asked("tools/call"); n != 1 {
				t.Errorf("the tool was called %d times", n)
			}
		})
		t.Run("http, "+era, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: era == "modern", dir: t.TempDir()}
			s, ts := raw(t, tasks)
			c := newClient(t, nil)
			recorded := make(chan state.RemoteTask, 1)
			task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
			for range 3 {
				asked := tasks.asked("tasks/get")
				ts.CloseClientConnections()
				eventually(t, "a question over another connection", func() bool { return tasks.asked("tasks/get") > asked })
			}
			tasks.set(task.ID, done)
			r, err := wait(t, over)
			structured(t, r, err)
			if n := tasks.asked("tools/call"); n != 1 {
				t.Errorf("the tool was called %d times", n)
			}
		})
	}
}

// attachVar holds what a client process attaches to.
const attachVar = "MCP_TEST_ATTACH"

type attachment struct {
	Dial router.Dial
	Task state.RemoteTask
}

// attach is a client process that waits for the task of another one.
func attach() int {
	var a attachment
	if err := json.Unmarshal([]byte(os.Getenv(attachVar)), &a); err != nil {
		fmt.Println(err)
		return 1
	}
	c := mcp.New(nil)
	defer c.Close(context.Background())
	r, err := c.Call(context.Background(), &router.Server{ID: "again", Dial: a.Dial},
		router.ToolCall{Tool: "long", Attach: &a.Task, Max: within})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(encode(r.Structured))
	return 0
}

// Re-attaching in another client process calls nothing.
func TestReattachingInAnotherClientProcessCallsNothing(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		if err := c.Close(ctx); err != nil { // as when this process ends
			t.Fatal(err)
		}
		_, err := wait(t, over)
		if e := callError(t, err); e.Code != router.Transport || e.Execution != state.Unknown {
			t.Errorf("%v %s", e, e.Execution)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		again := exec.CommandContext(ctx, self)
		again.Env = append(os.Environ(), serverVar+"=attaches", attachVar+"="+encode(attachment{s.Dial, task}))
		asked := tasks.asked("tasks/get")
		said := make(chan string, 1)
		go func() {
			out, err := again.CombinedOutput()
			said <- fmt.Sprint(strings.TrimSpace(string(out)), " ", err)
		}()
		eventually(t, "a question of the other process", func() bool { return tasks.asked("tasks/get") > asked })
		tasks.set(task.ID, done)
		if out := <-said; out != `{"n":7} <nil>` {
			t.Errorf("the other process says %s", out)
		}
		if n := tasks.asked("tools/call"); n != 1 {
			t.Errorf("the tool was called %d times", n)
		}
		if n := tasks.asked("tasks/cancel"); n != 0 {
			t.Errorf("the task was cancelled %d times", n)
		}
	})
}

// A request dropped in mid-poll is asked again.
func TestAQuestionAboutATaskThatIsLostIsAskedAgain(t *testing.T) {
	faults := map[string]func(w http.ResponseWriter, r *http.Request, id string){
		"dropped":           cut(""),
		"cut in the answer": cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{\"jsonrpc\":"),
		"503":               status(503, "busy"),
		"503, Retry-After":  status(503, "busy", "Retry-After", "0"),
		"429":               status(429, "slowly"),
		"500":               status(500, "oops"),
		"502":               status(502, "bad gateway"),
		"internal error":    rpc(-32603),
	}
	for name, fault := range faults {
		for _, modern := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, modern %v", name, modern), func(t *testing.T) {
				t.Parallel()
				tasks := &taskServer{modern: modern, dir: t.TempDir()}
				var faulty, met atomic.Int32
				s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, r := peek(r)
					if strings.Contains(body, `"method":"tasks/get"`) && faulty.Load() == 1 {
						met.Add(1)
						fault(w, r, string(idOf([]byte(body))))
						return
					}
					tasks.ServeHTTP(w, r)
				}))
				c := newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond}})
				recorded := make(chan state.RemoteTask, 1)
				task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
				faulty.Store(1)
				eventually(t, "the fault, thrice", func() bool { return met.Load() > 2 })
				tasks.set(task.ID, done)
				faulty.Store(0)
				r, err := wait(t, over)
				structured(t, r, err)
			})
		}
	}
}

func TestATaskThatNeverEndsIsEndedByTheMaximumClock(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		recorded := make(chan state.RemoteTask, 1)
		never := long(recorded)
		never.Idle, never.Max = 600*time.Millisecond, 1500*time.Millisecond
		begun := time.Now()
		task, over := begin(t, t.Context(), c, s, never, recorded)
		stop := make(chan struct{})
		defer close(stop)
		go func() { // it says something new all the time, and comes to no end
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					tasks.set(task.ID, fmt.Sprintf(`{"status":"working","statusMessage":"at %d"}`, n))
				}
			}
		}()
		_, err := wait(t, over)
		e := callError(t, err)
		if e.Code != router.Timeout || e.Clock != "maximum" || e.Execution != state.Unknown {
			t.Errorf("%v, clock %s, %s", e, e.Clock, e.Execution)
		}
		if took := time.Since(begun); took < never.Max || took > never.Max+within/2 {
			t.Errorf("it took %v", took)
		}
		eventually(t, "tasks/cancel", func() bool { return tasks.asked("tasks/cancel") == 1 })
	})
}

func TestATaskThatSaysNothingNewIsEndedByTheIdleClock(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		recorded := make(chan state.RemoteTask, 1)
		mute := long(recorded)
		mute.Idle = 400 * time.Millisecond
		_, over := begin(t, t.Context(), c, s, mute, recorded)
		_, err := wait(t, over)
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "idle" || e.Execution != state.Unknown {
			t.Errorf("%v, clock %s, %s", e, e.Clock, e.Execution)
		}
		if n := tasks.asked("tasks/get"); n < 2 {
			t.Errorf("it was asked %d times", n)
		}
		eventually(t, "tasks/cancel", func() bool { return tasks.asked("tasks/cancel") == 1 })
	})
}

func TestATaskThatCannotBeWaitedForByThisRunGoesOn(t *testing.T) {
	gone := errors.New("the store is gone")
	for name, cause := range map[string]error{"drain": state.ErrDraining, "lost lease": state.ErrLeaseLost, "not recorded": gone} {
		t.Run(name, func(t *testing.T) {
			eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
				c := newClient(t, nil)
				recorded := make(chan state.RemoteTask, 1)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				leaving := long(recorded)
				if cause == gone {
					leaving.OnTask = func(context.Context, state.RemoteTask) error { return gone }
				} else {
					record := leaving.OnTask
					leaving.OnTask = func(ctx context.Context, task state.RemoteTask) error {
						cancel(cause)
						if ctx.Err() != nil {
							t.Error("the record is made with a context that has ended")
						}
						return record(ctx, task)
					}
				}
				_, err := c.Call(ctx, s, leaving)
				e := callError(t, err)
				if e.Code != router.Cancelled || e.Execution != state.Unknown {
					t.Errorf("%v %s", e, e.Execution)
				}
				if cause == gone && !errors.Is(err, gone) {
					t.Errorf("%v does not say why", err)
				}
				end, stop := context.WithTimeout(t.Context(), within)
				defer stop()
				if err := c.Close(end); err != nil { // waits for what goes on in the background
					t.Fatal(err)
				}
				if n := tasks.asked("tasks/cancel"); n != 0 {
					t.Errorf("the task was cancelled %d times", n)
				}
			})
		})
	}
}

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
				task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
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
		task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
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
	task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
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
		task, over := begin(t, t.Context(), c, s, long(recorded), recorded)
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
		task, over := begin(t, t.Context(), c, s, telling, recorded)
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
