package hostiletest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
	"junction/state"
)

func TestATaskThatNeverEndsCostsFewQuestionsAndIsGivenUpAtTheMaximum(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		for _, f := range []hostiletest.Fault{hostiletest.TaskForEver, hostiletest.TaskGarbled} {
			t.Run(string(f)+", "+w.name, func(t *testing.T) {
				t.Parallel()
				world := hostiletest.NewWorld(t)
				s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: f, World: world.URL})
				c := newClient(t, mcp.Options{})
				if _, err := c.Describe(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				recorded := ""
				const most = 4 * time.Second // a busy machine takes one until the task is there
				call := router.ToolCall{Tool: "work", Idle: most, Max: most, OnTask: func(_ context.Context, r state.RemoteTask) error {
					recorded = r.ID
					return nil
				}}
				begun := time.Now()
				_, err := c.Call(t.Context(), s, call)
				if took := time.Since(begun); took > 15*time.Second {
					t.Errorf("it took %v", took)
				}
				if f == hostiletest.TaskForEver {
					check(t, err, maximum, s.ID)
				} else if e := callError(t, err); e.Execution != state.Unknown {
					t.Errorf("%s, %s: %s", e.Code, e.Execution, e.Message)
				}
				if recorded != "task-1" || world.Calls(s.ID) != 1 {
					t.Errorf("task %q of %d calls", recorded, world.Calls(s.ID))
				}
				if n := world.Polls("tasks/get", s.ID); n < 1 || n > 25*int(most/time.Second) {
					t.Errorf("asked %d times within %s", n, most)
				}
			})
		}
	}
}

func TestATaskThatNobodyOfferedToWaitForIsNoResult(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			world := hostiletest.NewWorld(t)
			s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.TaskForEver, World: world.URL})
			_, err := newClient(t, mcp.Options{}).Call(t.Context(), s, tried(well))
			if e := callError(t, err); e.Code != router.OutputInvalid && e.Code != router.CapabilityMismatch {
				t.Errorf("%s, %s: %s", e.Code, e.Execution, e.Message)
			}
		})
	}
}

func TestACallThatAServerHasMadeAgainAndAgainIsPacedAndGivenUpAtTheMaximum(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		if !w.modern {
			continue // has no such answer
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			world := hostiletest.NewWorld(t)
			s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.ShedsLoad, World: world.URL})
			c := newClient(t, mcp.Options{})
			if _, err := c.Describe(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "work", Max: 1500 * time.Millisecond, MayAsk: true})
			e := callError(t, err)
			if e.Code != router.Timeout || e.Clock != "maximum" || !strings.Contains(e.Message, s.ID) {
				t.Errorf("%s, %s, clock %q: %s", e.Code, e.Execution, e.Clock, e.Message)
			}
			if n := world.Calls(s.ID); n < 2 || n > 60 {
				t.Errorf("called %d times in a second and a half", n)
			}
		})
	}
}

// A person is asked one thing at a time, whatever a server would have them asked.
func TestAServerThatAsksPeopleWithoutEndAsksOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		if w.modern {
			continue // has no such requests
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.AsksPeople, World: hostiletest.NewWorld(t).URL})
			c := newClient(t, mcp.Options{Elicitation: true})
			if _, err := c.Describe(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			var asked, open atomic.Int64
			call := router.ToolCall{Tool: "work", Max: 2 * time.Second, Ask: func(ctx context.Context, _ router.Question) (router.QuestionAnswer, error) {
				asked.Add(1)
				if open.Add(1) > 1 {
					t.Error("two questions at once")
				}
				defer open.Add(-1)
				<-ctx.Done() // nobody is there
				return router.QuestionAnswer{}, ctx.Err()
			}}
			_, err := c.Call(t.Context(), s, call)
			check(t, err, maximum, s.ID)
			if n := asked.Load(); n < 1 || n > 8 {
				t.Errorf("%d questions were put", n)
			}
		})
	}
}
