package metrics

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

func TestAServerThatLeftLongAgoMakesRoom(t *testing.T) {
	t.Parallel()
	m := New("test")
	outcome := router.OutcomeInfo{Status: state.CallError, Code: router.Timeout}
	for i := range mostServers {
		m.OnOutcome(router.HopInfo{}, router.AttemptInfo{Server: fmt.Sprint(i)}, outcome)
	}
	if is := m.servers.of("new").name; is != other {
		t.Fatalf("beyond the bound a server is counted as %q", is)
	}
	now := time.Unix(1e9, 0)
	for range sweepsIdle + 1 { // the first one finds all of them used
		if m.servers.of("7").name != "7" {
			t.Fatal("a server that is used is gone")
		}
		m.forget(now)
		m.forget(now.Add(time.Second)) // too early to count
		now = now.Add(sweepEvery)
	}
	if n := len(*m.servers.known.Load()); n != 1 {
		t.Errorf("%d servers are kept, want the one that is used", n)
	}
	if is := m.servers.of("new").name; is != "new" {
		t.Errorf("with room a server is counted as %q", is)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "mcp_server_error_total" && len(f.GetMetric()) != 1 {
			t.Errorf("%d series of errors are left", len(f.GetMetric()))
		}
	}
}

func TestNamesThatComeAtOnceAreEachCountedOnce(t *testing.T) {
	t.Parallel()
	type number struct{ label string }
	b := newBounded(10, func(l string) *number { return &number{l} })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 1000 {
				name := fmt.Sprint((n + i) % 20)
				if is := b.of(name).label; is != name && is != other {
					t.Errorf("%s is counted as %s", name, is)
				}
				b.sweep(time.Unix(int64(n)*1000, 0), func(string) {})
			}
		})
	}
	all.Wait()
	if n := len(*b.known.Load()); n > 10 {
		t.Errorf("%d names", n)
	}
}
