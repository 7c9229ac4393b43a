package thirdparty_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// cutter cancels the hop at the first progress that is told of it.
type cutter struct {
	cancel   context.CancelFunc
	told     atomic.Int64
	outcomes chan router.OutcomeInfo
}

func (*cutter) OnDecision(router.HopInfo, router.Decision)   {}
func (*cutter) OnAttempt(router.HopInfo, router.AttemptInfo) {}

func (c *cutter) OnOutcome(_ router.HopInfo, _ router.AttemptInfo, o router.OutcomeInfo) {
	c.outcomes <- o
}

func (c *cutter) OnProgress(router.HopInfo, router.AttemptInfo, router.Progress) {
	c.told.Add(1)
	c.cancel()
}

// Over stdio the server goes on with what was cancelled, and goes on telling of it:
// the hop has ended, and each late word is counted and dropped.
func TestAHopTheServerDoesNotStopEndsAtOnceAndItsLateEventsAreCounted(t *testing.T) {
	installed(t)
	const steps = 10 // the server tells of each, one in 200 ms
	config, c := servers(t, nowhere(t)), client(t)
	s := named(t, config, "everything")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := &cutter{cancel: cancel, outcomes: make(chan router.OutcomeInfo, 16)}
	r := router.New(config.Discovery(), c, &router.Options{Seed: 1, Observer: watch})
	t.Cleanup(r.Close)
	echo := func(text string) {
		t.Helper()
		answer, err := r.Do(t.Context(), state.Call{Server: s.ID, Tool: "echo", Effect: state.Safe, Max: time.Minute, With: map[string]any{"message": text}})
		if err != nil || answer.Value.(map[string]any)["text"] != "Echo: "+text {
			t.Errorf("%s: %+v, %v", text, answer, err)
		}
	}

	_, err := r.Do(ctx, state.Call{
		Server: s.ID, Tool: "trigger-long-running-operation", Effect: state.Safe, Max: time.Minute,
		With: map[string]any{"duration": int64(2), "steps": int64(steps)},
	})
	if late := c.Strays(s.ID)[mcp.LateProgress]; late >= steps-1 {
		t.Errorf("the hop ended when the server had ended its work: %d late events by then", late)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the hop's error: %v", err)
	}
	if o := <-watch.outcomes; o.Status != state.CallCancelled || o.Code != router.Cancelled {
		t.Errorf("outcome %+v", o)
	}
	echo("next")

	// Every event but those that were told is late, however busy the machine.
	want := uint64(steps - watch.told.Load())
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for c.Strays(s.ID)[mcp.LateProgress] < want {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("counted %v, want %d late events", c.Strays(s.ID), want)
		}
	}
	echo("last")
	if got := c.Strays(s.ID); got[mcp.LateProgress] != want || got[mcp.WrongID]+got[mcp.UnknownToken]+got[mcp.DuplicateAnswer] != 0 {
		t.Errorf("counted %v, want %d late events and nothing that was never asked for", got, want)
	}
}
