package router_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"junction/router"
	"junction/state"
)

// diary writes down what an observer is told.
type diary struct{ lines []string }

func (d *diary) note(h router.HopInfo, format string, a ...any) {
	d.lines = append(d.lines, h.Node+"/"+h.Capability+": "+fmt.Sprintf(format, a...))
}
func (d *diary) OnDecision(h router.HopInfo, c router.Decision) { d.note(h, "picked %s", c.Picked) }
func (d *diary) OnAttempt(h router.HopInfo, a router.AttemptInfo) {
	d.note(h, "attempt %d at %s", a.Attempt, a.Server)
}
func (d *diary) OnOutcome(h router.HopInfo, a router.AttemptInfo, o router.OutcomeInfo) {
	d.note(h, "%s %s", o.Status, o.Code)
}
func (d *diary) OnProgress(h router.HopInfo, _ router.AttemptInfo, p router.Progress) {
	d.note(h, "%v of %v: %s", p.Progress, p.Total, p.Message)
}

func TestAnObserverIsToldOfEveryStep(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Weight = 1e9
		k.answer = fails(router.CallError{Code: router.ServerError, Execution: state.Unknown})
	}).add("b", func(_ *router.Server, k *script) {
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			c.Progress(1, 2, "half way")
			return answers("b")(ctx, n, c)
		}
	})
	seen := &diary{}
	inBubble(t, f, router.Options{Observer: seen}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{}.context(t)
		if _, err := r.Do(ctx, work); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"work/work: picked a", "work/work: attempt 1 at a", "work/work: error MCP_SERVER_ERROR",
			"work/work: picked b", "work/work: attempt 2 at b", "work/work: 1 of 2: half way", "work/work: success ",
		}
		if !slices.Equal(seen.lines, want) {
			t.Errorf("told %q, want %q", seen.lines, want)
		}
	})
}
