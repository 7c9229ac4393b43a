package thirdparty_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// research is a call of the tool that runs as a task only, for some four seconds.
func research(topic string, ambiguous bool) router.ToolCall {
	return router.ToolCall{
		Tool: "simulate-research-query", Arguments: map[string]any{"topic": topic, "ambiguous": ambiguous},
		Idle: 30 * time.Second, Max: time.Minute,
	}
}

func TestATaskIsKeptByItsIDAndLeftForALaterRun(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := client(t)
		ctx, drain := context.WithCancelCause(t.Context())
		var task state.RemoteTask
		call := research("ants", false)
		call.OnTask = func(_ context.Context, begun state.RemoteTask) error {
			task = begun
			drain(state.ErrDraining) // this run ends here, and the task goes on
			return nil
		}
		_, err := c.Call(ctx, s, call)
		var e *router.CallError
		if !errors.As(err, &e) || e.Execution != state.Unknown || task.ID == "" || task.TTL <= 0 {
			t.Fatalf("task %+v, error %v", task, err)
		}
		later := research("ants", false)
		later.Attach, later.OnTask = &task, func(context.Context, state.RemoteTask) error {
			t.Error("the tool was called again")
			return nil
		}
		r, err := c.Call(t.Context(), s, later)
		if err != nil || r.IsError || !strings.Contains(r.Text, "Research Report: ants") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestATaskAsksAPersonAndGoesOn(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		someone := &person{answer: func(q router.Question) (string, string) {
			if !strings.Contains(q.Message, "multiple interpretations") {
				t.Errorf("asked %+v", q)
			}
			return "accept", `{"interpretation":"historical"}`
		}}
		var tasks int
		var said []string
		call := research("ants", true)
		call.Ask = someone.ask
		call.OnTask = func(context.Context, state.RemoteTask) error { tasks++; return nil }
		call.Progress = func(_, _ float64, message string) { said = append(said, message) }
		r, err := asking(t).Call(t.Context(), s, call)
		if err != nil || r.IsError || !strings.Contains(r.Text, "**Clarification**: historical") {
			t.Fatalf("%+v, %v", r, err)
		}
		if someone.asked.Load() != 1 || tasks != 1 || !strings.Contains(fmt.Sprint(said), "historical") {
			t.Errorf("asked %d times in %d tasks, which said %q", someone.asked.Load(), tasks, said)
		}
	})
}

func TestACancelledTaskEndsAtOnceAndTheNextCallWorks(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := client(t)
		ctx, cancel := context.WithCancel(t.Context())
		call := research("ants", false)
		call.OnTask = func(context.Context, state.RemoteTask) error { cancel(); return nil }
		_, err := c.Call(ctx, s, call)
		var e *router.CallError
		if !errors.As(err, &e) || e.Code != router.Cancelled || e.Execution != state.Unknown {
			t.Errorf("error %v (%+v)", err, e)
		}
		r, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Arguments: map[string]any{"message": "next"}, Max: time.Minute})
		if err != nil || r.Text != "Echo: next" {
			t.Errorf("the next call: %+v, %v", r, err)
		}
	})
}

func TestAToolThatIsATaskOnlyIsNotCalledWhereNobodyKeepsTasks(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		_, err := client(t).Call(t.Context(), s, research("ants", false))
		var e *router.CallError
		if !errors.As(err, &e) || e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted {
			t.Errorf("error %v (%+v)", err, e)
		}
	})
}
