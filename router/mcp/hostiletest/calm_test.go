package hostiletest_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
)

// patience is what a busy machine may add to a call of a server that is well.
const patience = time.Second

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
		_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "work", Idle: 20 * time.Second, Max: 20 * time.Second})
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

func during(f func(done chan struct{}), measured func(done <-chan struct{}) []time.Duration) []time.Duration {
	done := make(chan struct{})
	go f(done)
	return measured(done)
}

// Not parallel: it measures time.
func TestWhileEveryServerMisbehavesAtOnceCallsOfAGoodOneGoOnAsBefore(t *testing.T) {
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
	measure := func(done <-chan struct{}) []time.Duration {
		var took [2][]time.Duration
		var all sync.WaitGroup
		for i, s := range good {
			all.Go(func() { took[i] = steady(t, c, s, done) })
		}
		all.Wait()
		return slices.Concat(took[0], took[1])
	}
	alone := during(func(done chan struct{}) {
		defer close(done)
		<-time.After(time.Second)
	}, measure)
	var bad []*router.Server
	for _, m := range misdeeds {
		for i, w := range ways {
			if w.http && m.http != nil || !w.http && m.stdio != nil {
				id := string(m.fault) + "/" + ways[i].name
				bad = append(bad, w.start(t, &hostiletest.Server{ID: id, Fault: m.fault, World: world.URL, Elsewhere: afar.url}))
			}
		}
	}
	// Four at a time: more would measure how many processes the machine starts.
	amid := during(func(done chan struct{}) {
		defer close(done)
		next := make(chan *router.Server)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for s := range next {
					c.Call(t.Context(), s, router.ToolCall{Tool: "work", Max: 300 * time.Millisecond}) //nolint:errcheck // how it fails is another test's
				}
			})
		}
		for _, s := range bad {
			next <- s
		}
		close(next)
		all.Wait()
	}, measure)
	t.Logf("alone: %d calls, slowest %v; amid %d servers that misbehave: %d calls, slowest %v", len(alone), slices.Max(alone), len(bad), len(amid), slices.Max(amid))
	if slowest := slices.Max(amid); slowest > slices.Max(alone)+patience {
		t.Errorf("the slowest call took %v, and %v where nobody misbehaved", slowest, slices.Max(alone))
	}
}
