package hostiletest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
	"junction/state"
)

// Bounds on a busy machine. Some hops wait a little for servers that are slow to
// describe themselves, most do not.
const (
	slowestHop = 15 * time.Second
	medianHop  = 5 * time.Second
)

// Not parallel: it measures time.
func TestHopsGoOnWhileOtherServersOfTheirCapabilityFailInTheirHandshakes(t *testing.T) {
	world, afar := hostiletest.NewWorld(t), newElsewhere(t)
	as := offer{effect: state.Safe}
	var servers known
	for _, w := range ways {
		for _, f := range []hostiletest.Fault{
			hostiletest.Silent, hostiletest.HalfThenSilence, hostiletest.Dropped, hostiletest.Nested, hostiletest.Huge, hostiletest.WrongID,
		} {
			for _, at := range []string{"server/discover", "tools/list"} {
				s := w.start(t, &hostiletest.Server{ID: at + ": " + string(f) + ", " + w.name, Fault: f, At: at, World: world.URL, Elsewhere: afar.url})
				servers = append(servers, offered(s, as, false))
			}
		}
	}
	bad := len(servers)
	good := offered((&hostiletest.Server{ID: "well", World: world.URL}).HTTP(t), as, true)
	servers = append(servers, good)
	slices.SortFunc(servers, func(a, b *router.Server) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	c := newClient(t, mcp.Options{ConnectTimeout: 5 * time.Second})
	r := router.New(servers, c, &router.Options{Seed: 1})
	t.Cleanup(r.Close)
	var all []time.Duration
	for n := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		begun := time.Now()
		a, err := r.Do(ctx, state.Call{Capability: "work", With: map[string]any{"order": "o"}})
		cancel()
		if err != nil {
			t.Fatalf("hop %d: %v", n, err)
		}
		took := time.Since(begun)
		if all = append(all, took); took > slowestHop {
			t.Errorf("hop %d of server %s took %v beside %d servers that cannot be described", n, a.Server, took, bad)
		}
	}
	slices.Sort(all)
	t.Logf("the median hop took %v, the slowest %v", all[len(all)/2], all[len(all)-1])
	if median := all[len(all)/2]; median > medianHop {
		t.Errorf("the median hop took %v", median)
	}
}
