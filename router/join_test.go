package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"junction/router"
)

// source is a discovery that shows what a test puts into it.
type source struct {
	name    string
	shown   atomic.Pointer[router.Snapshot]
	refresh func(ctx context.Context) error // nil: finds nothing new
}

func newSource(name string, ids ...string) *source {
	s := &source{name: name}
	s.show(ids...)
	return s
}

// show replaces the snapshot; every server says in its name where it is from.
func (s *source) show(ids ...string) *router.Snapshot {
	next := &router.Snapshot{Contracts: map[string]router.Contract{}}
	for _, id := range ids {
		next.Servers = append(next.Servers, &router.Server{ID: id, Name: s.name})
	}
	s.shown.Store(next)
	return next
}

func (s *source) String() string             { return s.name }
func (s *source) Snapshot() *router.Snapshot { return s.shown.Load() }

func (s *source) Refresh(ctx context.Context) error {
	if s.refresh == nil {
		return nil
	}
	return s.refresh(ctx)
}

// listing tells a snapshot's servers and where they are from.
func listing(s *router.Snapshot) string {
	var all []string
	for _, server := range s.Servers {
		all = append(all, server.ID+"@"+server.Name)
	}
	return strings.Join(all, " ")
}

func TestJoinedSourcesShowTheirServersTogether(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources []router.Discovery
		want    string
	}{
		{"none", nil, ""},
		{"one", []router.Discovery{newSource("file", "b", "a")}, "b@file a@file"},
		{"two, by id", []router.Discovery{newSource("file", "c", "a"), newSource("consul", "d", "b")}, "a@file b@consul c@file d@consul"},
		{"the first wins", []router.Discovery{newSource("file", "b"), newSource("consul", "a", "b", "c")}, "a@consul b@file c@consul"},
		{"an empty first", []router.Discovery{newSource("file"), newSource("consul", "a")}, "a@consul"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := listing(router.Join(c.sources...).Snapshot()); got != c.want {
				t.Errorf("servers %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheFirstSourcesContractHolds(t *testing.T) {
	first, second := newSource("first"), newSource("second")
	first.Snapshot().Contracts["a"] = router.Contract{Capability: "a", Input: []byte(`"first"`)}
	second.Snapshot().Contracts["a"] = router.Contract{Capability: "a", Input: []byte(`"second"`)}
	second.Snapshot().Contracts["b"] = router.Contract{Capability: "b", Input: []byte(`"second"`)}
	got := router.Join(first, second).Snapshot().Contracts
	if len(got) != 2 || string(got["a"].Input) != `"first"` || string(got["b"].Input) != `"second"` {
		t.Errorf("contracts %s", got)
	}
	if len(first.Snapshot().Contracts) != 1 {
		t.Error("the source's own contracts were changed")
	}
}

func TestTheJoinedSnapshotIsTheSameWhileNoSourceChanges(t *testing.T) {
	file, consul := newSource("file", "a"), newSource("consul", "b")
	d := router.Join(file, consul)
	first := d.Snapshot()
	if d.Snapshot() != first {
		t.Error("another snapshot though nothing changed")
	}
	if err := d.Refresh(t.Context()); err != nil || d.Snapshot() != first {
		t.Errorf("another snapshot though the fresh look found nothing new (%v)", err)
	}

	consul.show("b", "c")
	second := d.Snapshot()
	if second == first || second.Version <= first.Version || listing(second) != "a@file b@consul c@consul" {
		t.Errorf("after a server came: %q, version %d after %d", listing(second), second.Version, first.Version)
	}
	if listing(first) != "a@file b@consul" {
		t.Errorf("a snapshot was changed after it was handed out: %q", listing(first))
	}
	if second.Servers[0] != first.Servers[0] {
		t.Error("a server that did not change has lost its identity")
	}
	if allocations := testing.AllocsPerRun(100, func() { d.Snapshot() }); allocations != 0 {
		t.Errorf("%v allocations to read what is known", allocations)
	}
}

func TestJoinedSourcesAreStaleWhileOneIs(t *testing.T) {
	file, consul := newSource("file", "a"), newSource("consul", "b")
	d := router.Join(file, consul)
	if d.Snapshot().Stale {
		t.Error("stale from the start")
	}
	consul.shown.Store(&router.Snapshot{Servers: consul.Snapshot().Servers, Stale: true})
	if s := d.Snapshot(); !s.Stale || listing(s) != "a@file b@consul" {
		t.Errorf("stale %v with %q while one source cannot be reached", s.Stale, listing(s))
	}
	consul.show("b")
	if d.Snapshot().Stale {
		t.Error("still stale after the source came back")
	}
}

func TestAFreshLookIsTakenInAllSourcesAtOnce(t *testing.T) {
	file, consul := newSource("file"), newSource("consul")
	var both sync.WaitGroup
	both.Add(2)
	meet := func(s *source) func(context.Context) error {
		return func(context.Context) error {
			both.Done()
			both.Wait() // for ever, where one is asked after the other
			s.show("new-" + s.name)
			return nil
		}
	}
	file.refresh, consul.refresh = meet(file), meet(consul)
	d := router.Join(file, consul)
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := listing(d.Snapshot()); got != "new-consul@consul new-file@file" {
		t.Errorf("servers %q", got)
	}
}

func TestAFailingSourceHidesNoOthersResult(t *testing.T) {
	file, consul, third := newSource("servers file j.yaml", "a"), newSource("consul at http://h:8500", "b"), newSource("third")
	broken := errors.New("403")
	file.refresh = func(context.Context) error { return broken }
	consul.refresh = func(ctx context.Context) error {
		<-ctx.Done() // hangs
		return ctx.Err()
	}
	d := router.Join(file, consul, third)
	ctx, cancel := context.WithCancel(t.Context())
	third.refresh = func(context.Context) error {
		third.show("found")
		cancel()
		return nil
	}
	err := d.Refresh(ctx)
	if !errors.Is(err, broken) || !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh = %v, want both errors", err)
	}
	for _, want := range []string{"look again in servers file j.yaml: 403", "look again in consul at http://h:8500: context canceled"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "third") {
		t.Errorf("%q names a source that did not fail", err)
	}
	if got := listing(d.Snapshot()); got != "a@servers file j.yaml b@consul at http://h:8500 found@third" {
		t.Errorf("servers %q", got)
	}
}

func TestANamelessSourceIsNamedByItsPlace(t *testing.T) {
	nameless := struct{ router.Discovery }{&source{refresh: func(context.Context) error { return errors.New("no") }}}
	err := router.Join(newSource("file"), nameless).Refresh(t.Context())
	if err == nil || err.Error() != "look again in source 2 of servers: no" {
		t.Errorf("Refresh = %v", err)
	}
}

// Whoever reads while sources change sees versions rise, the newest servers of
// each, and never a mixture out of order.
func TestJoinedSnapshotsAreReadWhileSourcesChange(t *testing.T) {
	const changes = 300
	file, consul := newSource("file", "f-0"), newSource("consul", "c-0")
	d := router.Join(file, consul)
	var writers, readers sync.WaitGroup
	for _, s := range []*source{file, consul} {
		writers.Go(func() {
			for n := range changes {
				s.show(fmt.Sprintf("%s-%d", s.name[:1], n+1))
			}
		})
	}
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			var last *router.Snapshot
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true
				default:
				}
				s := d.Snapshot()
				switch {
				case len(s.Servers) != 2 || !slices.IsSortedFunc(s.Servers, func(a, b *router.Server) int { return strings.Compare(a.ID, b.ID) }):
					t.Errorf("servers %q", listing(s))
				case last != nil && s != last && s.Version <= last.Version:
					t.Errorf("version %d after %d", s.Version, last.Version)
				case last != nil && s == last && s.Version != last.Version:
					t.Error("a snapshot was changed after it was handed out")
				}
				last = s
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	want := fmt.Sprintf("c-%d@consul f-%d@file", changes, changes)
	if got := listing(d.Snapshot()); got != want {
		t.Errorf("in the end %q, want %q", got, want)
	}
}
