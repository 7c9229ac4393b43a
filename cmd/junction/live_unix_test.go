//go:build unix

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"junction/state"
	"junction/state/redis/redistest"
)

// reviewAndPublish is a thread of one safe hop and one under a key. TIMEOUT is the
// maximum of each attempt.
const reviewAndPublish = `
workflow: review-and-publish
state:
  change:  {type: string}
  issues:  {type: array, reduce: append}
  receipt: {type: integer}
nodes:
  review:  {call: {capability: code-review, with: {code: "${change}", language: any}, timeout: TIMEOUT}, write: {issues: "${result.issues}"}}
  publish: {call: {capability: publish, with: {text: "${change}"}, timeout: TIMEOUT}, write: {receipt: "${result.receipt}"}}
edges:
  - start -> review -> publish -> end
`

// live is a fleet under a steady stream of threads, and what is held to.
type live struct {
	base    time.Duration // of a call
	timeout time.Duration // of an attempt: beyond what a busy machine adds
	rate    int           // threads a second
	closely bool          // shares are held to the lab's
	phases  []phase
	seconds int
	seen    []float64 // by second: the share of the picks that went to the odd ones
}

// run brings up eight servers, four of each kind, and a worker, and does to the last
// of each kind what the phases say while threads come.
func (l *live) run(t *testing.T) {
	dir := t.TempDir()
	var servers []*liveServer
	for n := range 4 {
		servers = append(servers,
			startLive(t, dir, fmt.Sprintf("review-%d", n+1), "secrets", l.base),
			startLive(t, dir, fmt.Sprintf("press-%d", n+1), "ledger", l.base))
	}
	odd := servers[len(servers)-2:]
	f := newLiveFleet(t, dir, redistest.Start(t, "appendonly", "yes").Address(), liveServers(servers), 10*time.Second)
	w := f.start(t)
	at := w.servesAt(t)
	put := f.feeder(t, strings.ReplaceAll(reviewAndPublish, "TIMEOUT", l.timeout.String()))
	// All are known and met before the clock runs.
	const first = 40
	for n := range first {
		if err := put(t.Context(), fmt.Sprintf("first-%d", n), map[string]any{"change": fmt.Sprintf("first-%d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the first threads are done", func() bool {
		count, _, err := f.stand(t.Context())
		return err == nil && count[state.StatusCompleted] == first
	})

	begun := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	fed := 0
	watching.Go(func() { fed = l.feed(ctx, t, begun, put) })
	watching.Go(func() { l.watch(ctx, t, begun, at, odd) })
	l.trouble(t, begun, filepath.Join(dir, "ledger.db"), odd)
	reach(t, begun, l.seconds)
	watching.Wait()
	cancel()
	var failed *state.Thread
	until(t, "every thread has ended", func() bool {
		count, one, err := f.stand(t.Context())
		failed = one
		return err == nil && count[state.StatusPending]+count[state.StatusRunning] == 0
	})
	count, _, err := f.stand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if count[state.StatusCompleted] != fed+first {
		t.Errorf("of %d threads %v; one that failed: %+v", fed+first, count, failed)
		if failed != nil {
			t.Errorf("it failed of %+v", *failed.Failure)
		}
	}
	assertLedgerOnce(t, filepath.Join(dir, "ledger.db"), fed+first)
	_, text := fetch(t, at+"/metrics")
	families := parseMetrics(t, text)
	for _, name := range []string{"junction_hop_attempts_total", "junction_hop_retries_total", "junction_retry_budget_exhausted_total"} {
		is, _ := reading(families, name)
		t.Logf("%s %v", name, is)
	}
	t.Logf("%d threads of two hops, all completed: %t; %d keys", fed+first, failed == nil, fed+first)
}

// feed leaves threads to the worker at the rate, to the end.
func (l *live) feed(ctx context.Context, t *testing.T, begun time.Time, put func(context.Context, string, map[string]any) error) (n int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; time.Since(begun) < time.Duration(l.seconds)*time.Second; <-tick.C {
		for ; float64(n) < time.Since(begun).Seconds()*float64(l.rate); n++ {
			id := fmt.Sprintf("t%05d", n)
			if err := put(ctx, id, map[string]any{"change": id}); err != nil {
				t.Errorf("thread %s could not be queued: %v", id, err)
				return n
			}
		}
	}
	return n
}

// watch reads from the worker's metrics at each second what share of its decisions
// the odd servers won in it.
func (l *live) watch(ctx context.Context, t *testing.T, begun time.Time, at string, odd []*liveServer) {
	picks := func() (ours, all float64) {
		_, text := fetch(t, at+"/metrics")
		for _, m := range parseMetrics(t, text)["mcp_server_picks_total"].GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() != "server_name" {
					continue
				}
				all += m.GetCounter().GetValue()
				for _, s := range odd {
					if label.GetValue() == s.name {
						ours += m.GetCounter().GetValue()
					}
				}
			}
		}
		return ours, all
	}
	ours, all := picks()
	for second := 1; second <= l.seconds; second++ {
		select {
		case <-time.After(time.Until(begun.Add(time.Duration(second) * time.Second))):
		case <-ctx.Done():
			return
		}
		nowOurs, nowAll := picks()
		l.seen = append(l.seen, (nowOurs-ours)/max(1, nowAll-all))
		ours, all = nowOurs, nowAll
	}
}

// trouble goes through the phases.
func (l *live) trouble(t *testing.T, begun time.Time, ledger string, odd []*liveServer) {
	each := func(do func(*liveServer)) {
		for _, s := range odd {
			do(s)
		}
	}
	for _, p := range l.phases {
		reach(t, begun, p.at)
		switch {
		case p.words != "":
			each(func(s *liveServer) { s.ill(t, p.words) })
		case p.signal == syscall.SIGSTOP:
			betweenWrites(t, ledger, func() { each(func(s *liveServer) { s.send(t, p.signal) }) })
		default:
			each(func(s *liveServer) { s.kill(t) })
		}
		reach(t, begun, p.at+p.took)
		switch {
		case p.words != "":
			each(func(s *liveServer) { s.ill(t, "") })
		case p.signal == syscall.SIGSTOP:
			each(func(s *liveServer) { s.send(t, syscall.SIGCONT) })
		default:
			each(func(s *liveServer) { s.start(t) })
		}
	}
}

// reach waits for a second of the run.
func reach(t *testing.T, begun time.Time, second int) {
	t.Helper()
	select {
	case <-time.After(time.Until(begun.Add(time.Duration(second) * time.Second))):
	case <-t.Context().Done():
	}
}

// TestCallersSeeNothingOfAServersTroubleWhichTheLabForetells is the short form.
func TestCallersSeeNothingOfAServersTroubleWhichTheLabForetells(t *testing.T) {
	if testing.Short() {
		t.Skip("runs servers and a worker in processes of their own for half a minute; -short leaves it out")
	}
	const base = 100 * time.Millisecond
	l := &live{base: base, timeout: 20 * time.Second, rate: 30, seconds: 31, phases: []phase{slowed(3, 5, 4, base), killedOff(12, 3, 10), halfFailing(25, 5, 1)}}
	l.run(t)
	l.compare(t)
}
