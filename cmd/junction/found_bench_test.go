//go:build unix

package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// busy is a fleet of one worker whose threads call the service all the time,
// with one instance that stays and one that comes and goes. end lets them end.
func busy(b *testing.B) (f *found, stays, comes *member, end func()) {
	b.Helper()
	f = newFound(b)
	f.took = 5 * time.Millisecond
	stays, comes = f.newMember(b, nil, nil), f.newMember(b, nil, nil)
	f.register(b, stays, nil)
	w := f.start(b)
	ids := f.queueAs(b, steps, []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"})
	more(b, "calls are made", 200, stays)
	return f, stays, comes, func() { f.end(b, ids, w) }
}

// report gives median and maximum.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// BenchmarkNewServerIsUsed is the time from the beginning of a server's
// registration in Consul to the first call that it receives from a worker, a
// process of its own, that makes some hundred calls a second all the while. The
// target is a second at most.
func BenchmarkNewServerIsUsed(b *testing.B) {
	f, stays, comes, end := busy(b)
	defer end()
	var took []time.Duration
	for b.Loop() {
		comes.first.Store(nil)
		begun := time.Now()
		registered := f.register(b, comes, nil)
		until(b, "the new server is called", func() bool { return comes.first.Load() != nil })
		took = append(took, comes.first.Load().Sub(begun))
		leave(b, registered)
		quiet(b, "the server that left", 100, comes, stays)
	}
	report(b, took)
}

// BenchmarkDeregisteredGetsNothing is the time from the beginning of a server's
// deregistration to the last call that it receives; 0 where none came. The target
// is a second at most.
func BenchmarkDeregisteredGetsNothing(b *testing.B) {
	f, stays, comes, end := busy(b)
	defer end()
	var took []time.Duration
	for b.Loop() {
		registered := f.register(b, comes, nil)
		more(b, "the new server is called", 20, comes)
		begun := time.Now()
		leave(b, registered)
		quiet(b, "the server that left", 300, comes, stays)
		took = append(took, max(0, comes.last.Load().Sub(begun)))
	}
	report(b, took)
}

// BenchmarkDeregisteredLastGetsNothing is the same where the server was the only
// one of its capability: that there is none is believed after a second, confirmed
// look. The threads fail then, and others are begun for the next round.
func BenchmarkDeregisteredLastGetsNothing(b *testing.B) {
	f := newFound(b)
	f.took = 5 * time.Millisecond
	alone := f.newMember(b, nil, nil)
	var took []time.Duration
	registered := f.register(b, alone, nil)
	f.start(b)
	for b.Loop() {
		ids := make([]string, 8)
		for i := range ids {
			ids[i] = fmt.Sprintf("t%d-%d", len(took), i)
		}
		f.queueAs(b, steps, ids)
		more(b, "calls are made", 200, alone)
		begun := time.Now()
		leave(b, registered)
		for _, id := range ids {
			until(b, "the threads fail", func() bool {
				th, err := f.app.Store.Thread(b.Context(), id)
				return err == nil && th.Failure != nil && th.Failure.Code == "no_candidate"
			})
		}
		took = append(took, max(0, alone.last.Load().Sub(begun)))
		registered = f.register(b, alone, nil) // a fresh look finds it, however soon a call is made
	}
	report(b, took)
}
