package hostiletest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
)

// patience is what a busy machine may add to a call of a server that is well.
const patience = 2 * time.Second

// steady calls a server until done is closed, and returns how long each call took.
func steady(t *testing.T, c *mcp.Client, s *router.Server, done <-chan struct{}) []time.Duration {
	var took []time.Duration
	for {
		select {
		case <-done:
			return took
		default:
		}
		begun := time.Now()
		_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "work", Idle: time.Minute, Max: time.Minute})
		if err != nil {
			t.Errorf("a call of %s: %v", s.ID, err)
		}
		took = append(took, time.Since(begun))
		select {
		case <-done:
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// amid measures the calls of good servers while each of the others is called once,
// four at a time: more would measure how many processes the machine starts.
func amid(t *testing.T, c *mcp.Client, good, others []*router.Server) []time.Duration {
	done := make(chan struct{})
	took := make([][]time.Duration, len(good))
	var measuring, calling sync.WaitGroup
	for i, s := range good {
		measuring.Go(func() { took[i] = steady(t, c, s, done) })
	}
	next := make(chan *router.Server)
	for range 4 {
		calling.Go(func() {
			for s := range next {
				c.Call(t.Context(), s, router.ToolCall{Tool: "work", Max: 300 * time.Millisecond}) //nolint:errcheck // how it fails is another test's
			}
		})
	}
	for _, s := range others {
		next <- s
	}
	close(next)
	calling.Wait()
	close(done)
	measuring.Wait()
	return slices.Concat(took...)
}

// Not parallel: it measures time. The control calls as many servers that are well.
func TestWhileEveryServerMisbehavesAtOnceCallsOfGoodOnesGoOnAsBefore(t *testing.T) {
	world, afar := hostiletest.NewWorld(t), newElsewhere(t)
	c := newClient(t, mcp.Options{Backoff: mcp.Backoff{Base: 50 * time.Millisecond, Cap: 200 * time.Millisecond}})
	good := []*router.Server{
		(&hostiletest.Server{ID: "good-stdio", World: world.URL}).Stdio(t),
		(&hostiletest.Server{ID: "good-http", World: world.URL, Modern: true}).HTTP(t),
	}
	for _, s := range good {
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	var bad, well []*router.Server
	for _, m := range misdeeds {
		for _, w := range ways {
			if w.http && m.http != nil || !w.http && m.stdio != nil {
				bad = append(bad, w.start(t, &hostiletest.Server{ID: string(m.fault) + ", " + w.name, Fault: m.fault, World: world.URL, Elsewhere: afar.url}))
				well = append(well, w.start(t, &hostiletest.Server{ID: fmt.Sprint("well-", len(well)), World: world.URL}))
			}
		}
	}
	for _, f := range []hostiletest.Fault{hostiletest.Huge, hostiletest.HugeIDLast, hostiletest.Compressed} {
		bad = append(bad, (&hostiletest.Server{ID: string(f), Fault: f, World: world.URL}).HTTP(t))
	}
	control, took := amid(t, c, good, well), amid(t, c, good, bad)
	t.Logf("amid %d servers that are well: %d calls, slowest %v; amid %d that misbehave: %d calls, slowest %v",
		len(well), len(control), slices.Max(control), len(bad), len(took), slices.Max(took))
	if slowest := slices.Max(took); slowest > 2*slices.Max(control)+patience {
		t.Errorf("the slowest call took %v, and %v where nobody misbehaved", slowest, slices.Max(control))
	}
}
