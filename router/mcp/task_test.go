package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
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
func begin(ctx context.Context, t *testing.T, c *mcp.Client, s *router.Server, call router.ToolCall, recorded chan state.RemoteTask) (state.RemoteTask, chan ended) {
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
		task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
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
	task, over := begin(t.Context(), t, c, s, slow, recorded)
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
		task, over := begin(ctx, t, c, s, long(recorded), recorded)
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
			task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
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
			task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
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
		task, over := begin(t.Context(), t, c, s, long(recorded), recorded)
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

func TestACancelWhileTheTaskIsRecordedCancelsTheTaskThen(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		given := long(nil)
		given.OnTask = func(context.Context, state.RemoteTask) error {
			cancel()
			if n := tasks.asked("tasks/cancel"); n != 0 {
				t.Errorf("cancelled %d times before it is known", n)
			}
			return nil
		}
		_, err := c.Call(ctx, s, given)
		if e := callError(t, err); e.Code != router.Cancelled || e.Execution != state.Unknown {
			t.Errorf("%v %s", e, e.Execution)
		}
		eventually(t, "tasks/cancel", func() bool { return tasks.asked("tasks/cancel") == 1 })
		tasks.set("task-1", `{"status":"cancelled"}`)
	})
}

func TestATaskIsCancelledAlthoughTheClientIsClosedAtOnce(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, s *router.Server, tasks *taskServer) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, over := begin(ctx, t, c, s, long(recorded), recorded)
		cancel()
		_, err := wait(t, over)
		if e := callError(t, err); e.Code != router.Cancelled {
			t.Error(e)
		}
		end, stop := context.WithTimeout(t.Context(), within)
		defer stop()
		if err := c.Close(end); err != nil {
			t.Fatal(err)
		}
		if n := tasks.asked("tasks/cancel"); n != 1 {
			t.Errorf("the task was cancelled %d times", n)
		}
	})
}

func TestATaskIsAskedForAtOnceWhenItsServerSaysThatItChanged(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "questions, legacy") // over HTTP there is no stream to say it on
	c := newClient(t, nil)
	recorded := make(chan state.RemoteTask, 1)
	telling := long(recorded)
	telling.Tool, telling.Idle, telling.Max = "asks as a task and tells", 2*within, 2*within
	begun := time.Now()
	task, over := begin(t.Context(), t, c, s, telling, recorded)
	r, err := wait(t, over)
	if err != nil || r.Text != "told" {
		t.Errorf("%+v, %v", r, err)
	}
	if took := time.Since(begun); took > task.Poll/2 {
		t.Errorf("it was asked for after %v, of %v that the server wants between questions", took, task.Poll)
	}
}
