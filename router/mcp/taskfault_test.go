package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// faulty is a server with tasks whose first answers to tasks/get are faults; met
// counts those.
func faulty(t *testing.T, tasks *taskServer, times int32, fault func(http.ResponseWriter, *http.Request, string)) (s *router.Server, met *atomic.Int32) {
	met = &atomic.Int32{}
	s, _ = raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, r := peek(r)
		if strings.Contains(body, `"method":"tasks/get"`) && met.Add(1) <= times {
			fault(w, r, string(idOf([]byte(body))))
			return
		}
		tasks.ServeHTTP(w, r)
	}))
	return s, met
}

// quickly is for tests that wait out a back-off.
func quickly() *mcp.Options {
	return &mcp.Options{Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond}}
}

const often = 5

// A request dropped in mid-poll is asked again.
func TestAQuestionAboutATaskThatIsLostIsAskedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		times int32
		fault func(http.ResponseWriter, *http.Request, string)
	}{
		"dropped":           {often, cut("")},
		"cut in the answer": {often, cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{\"jsonrpc\":")},
		"503":               {often, status(503, "busy")},
		"503, Retry-After":  {often, status(503, "busy", "Retry-After", "0")},
		"429":               {often, status(429, "slowly")},
		"500":               {often, status(500, "oops")},
		"502":               {often, status(502, "bad gateway")},
		"internal error":    {often, rpc(-32603)},
		"a proxy's page":    {2, status(200, "<html>back soon</html>")},
		"another's answer":  {2, status(200, `{"jsonrpc":"2.0","id":1,"result":{}}`)},
	} {
		for _, modern := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, modern %v", name, modern), func(t *testing.T) {
				t.Parallel()
				tasks := &taskServer{modern: modern, dir: t.TempDir()}
				s, met := faulty(t, tasks, tc.times, tc.fault)
				recorded := make(chan state.RemoteTask, 1)
				task, over := begin(t.Context(), t, newClient(t, quickly()), s, long(recorded), recorded)
				eventually(t, "an answer after the faults", func() bool { return met.Load() > tc.times })
				tasks.set(task.ID, done)
				r, err := wait(t, over)
				structured(t, r, err)
			})
		}
	}
}

func TestAServerThatCannotSayHowATaskIsIsLeftInTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, string)
		code  router.Code
		says  string
	}{
		"by the maximum clock":    {status(503, "closed for ever"), router.Timeout, "closed for ever"},
		"when it answers rubbish": {status(200, "<html>"), router.OutputInvalid, "cannot be read"},
		"when it says too much":   {status(200, `{"jsonrpc":"2.0","id":$ID,"result":"`+strings.Repeat("x", 1<<16)+`"}`), router.OutputInvalid, "larger than allowed"},
		"when it knows no tasks":  {rpc(-32601), router.ServerError, "does not know the task any more"},
		"when it knows us not":    {status(403, "who are you"), router.AuthMismatch, "who are you"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: true, dir: t.TempDir()}
			s, _ := faulty(t, tasks, 1<<30, tc.fault)
			o := quickly()
			o.MaxResponseBytes = 1 << 14
			recorded := make(chan state.RemoteTask, 1)
			left := long(recorded)
			left.Idle, left.Max = time.Second, 2*time.Second
			_, over := begin(t.Context(), t, newClient(t, o), s, left, recorded)
			_, err := wait(t, over)
			if e := callError(t, err); e.Code != tc.code || e.Execution != state.Unknown || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%v %s", e, e.Execution)
			} else if e.Code == router.Timeout && e.Clock != "maximum" {
				t.Errorf("ended by the clock %s", e.Clock)
			}
		})
	}
}

func TestATaskThatCannotBeAskedForIsNotTakenForIdle(t *testing.T) {
	t.Parallel()
	tasks := &taskServer{modern: true, dir: t.TempDir()}
	var down atomic.Bool
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "restarting", http.StatusServiceUnavailable)
			return
		}
		tasks.ServeHTTP(w, r)
	}))
	recorded := make(chan state.RemoteTask, 1)
	patient := long(recorded)
	patient.Idle = 600 * time.Millisecond
	task, over := begin(t.Context(), t, newClient(t, quickly()), s, patient, recorded)
	eventually(t, "a first look", func() bool { return tasks.asked("tasks/get") > 0 })
	down.Store(true)
	<-time.After(3 * patient.Idle)
	tasks.set(task.ID, done)
	down.Store(false)
	r, err := wait(t, over)
	structured(t, r, err)
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
		task, over := begin(t.Context(), t, c, s, never, recorded)
		var telling sync.WaitGroup
		stop := make(chan struct{})
		defer telling.Wait() // it writes where the test cleans up
		defer close(stop)
		telling.Go(func() { // it says something new all the time, and comes to no end
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					tasks.set(task.ID, fmt.Sprintf(`{"status":"working","statusMessage":"at %d"}`, n))
				}
			}
		})
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
		_, over := begin(t.Context(), t, c, s, mute, recorded)
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
