//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"junction/state"
	"junction/state/childtest"
	"junction/state/redis/redistest"
)

// TestAWorkerThatWakesAfterItsLeaseIsFenced stops a worker in the middle of its
// work for longer than its lease, lets another finish, and wakes the first.
func TestAWorkerThatWakesAfterItsLeaseIsFenced(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFleet(t, redistest.Shared(t).Address(), 200*time.Millisecond, 2*time.Second, 16)
	first := f.start(t)
	ids := f.queue(t, fiveHops, 16)
	until(t, "the first worker is in the middle of its work", func() bool {
		f.shop.mu.Lock()
		defer f.shop.mu.Unlock()
		return f.shop.reviews > 0 && len(f.shop.effects) > 0
	})
	send(t, first, syscall.SIGSTOP)
	second := f.start(t)
	f.wait(t, ids, time.Minute, func() []*fleetWorker { return []*fleetWorker{first, second} })
	f.shop.mu.Lock()
	calls := f.shop.reviews + f.shop.repeats + len(f.shop.effects)
	f.shop.mu.Unlock()
	send(t, first, syscall.SIGCONT)
	until(t, "the first worker notices that it is fenced", func() bool { return strings.Contains(first.log.String(), "lease lost") })
	send(t, first, syscall.SIGTERM)
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("the worker that was fenced ended with %v:\n%s", err, first.log.String())
	}
	first.once.Do(func() {})
	f.shop.assertOnce(t, 2*len(ids))
	f.shop.mu.Lock()
	defer f.shop.mu.Unlock()
	if now := f.shop.reviews + f.shop.repeats + len(f.shop.effects); now != calls {
		t.Errorf("the worker made %d calls after its lease had run out", now-calls)
	}
}

// TestRedisKilledAndRestartedLosesNoStep kills Redis in the middle of a fleet's
// work and starts it again on its append-only file.
func TestRedisKilledAndRestartedLosesNoStep(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	r := redistest.Start(t, "appendonly", "yes", "appendfsync", "always")
	f := newFleet(t, r.Address(), 100*time.Millisecond, 2*time.Second, 16)
	workers := []*fleetWorker{f.start(t), f.start(t)}
	ids := f.queue(t, fiveHops, 60)
	for kills := range 2 {
		until(t, "the workers are in the middle of their work", func() bool {
			f.shop.mu.Lock()
			defer f.shop.mu.Unlock()
			return len(f.shop.effects) > 20*(kills+1)
		})
		r.Kill()
		r.Restart()
	}
	f.wait(t, ids, time.Minute, func() []*fleetWorker { return workers })
	f.shop.assertOnce(t, 2*len(ids))
}

// TestRedisRestartedWithoutItsDataIsSaidLoudly starts Redis again with nothing
// in it: no thread begins anew.
func TestRedisRestartedWithoutItsDataIsSaidLoudly(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	r := redistest.Start(t)
	f := newFleet(t, r.Address(), 300*time.Millisecond, 2*time.Second, 16)
	w := f.start(t)
	ids := f.queue(t, fiveHops, 8)
	until(t, "the worker is in the middle of its work", func() bool {
		f.shop.mu.Lock()
		defer f.shop.mu.Unlock()
		return len(f.shop.effects) > 0
	})
	r.Kill()
	r.Restart()
	until(t, "the worker says that threads have vanished", func() bool { return strings.Count(w.log.String(), "vanished") >= 1 })
	stdout, stderr, code := junctionIn(t, f.dir, "resume", ids[0], "--store", f.address)
	if code != exitFailed || !strings.Contains(stderr, "no thread") {
		t.Errorf("resume: exit %d\n%s%s", code, stdout, stderr)
	}
	f.shop.mu.Lock()
	defer f.shop.mu.Unlock()
	for key, n := range f.shop.effects {
		if n != 1 {
			t.Errorf("key %s took effect %d times", key, n)
		}
	}
}

// TestASentinelFailoverInMidRunGoesOn kills the master while a fleet works. What
// was acknowledged and not yet replicated may be lost: a thread then ends in
// completion or is said to have gone back, and no key takes effect twice.
func TestASentinelFailoverInMidRunGoesOn(t *testing.T) {
	redistest.Long(t)
	s := redistest.StartSentinel(t)
	f := newFleet(t, s.Address(), 200*time.Millisecond, 3*time.Second, 16)
	workers := []*fleetWorker{f.start(t), f.start(t)}
	ids := f.queue(t, fiveHops, 60)
	until(t, "the workers are in the middle of their work", func() bool {
		f.shop.mu.Lock()
		defer f.shop.mu.Unlock()
		return len(f.shop.effects) > 30
	})
	s.KillMaster()
	f.wait(t, ids, 2*time.Minute, func() []*fleetWorker { return workers })
	f.shop.assertOnce(t, 2*len(ids))
}

// TestASecondSignalHandsThreadsBackAtOnce stops a worker twice in the middle of a
// call that may take effect, which the first signal alone lets go on.
func TestASecondSignalHandsThreadsBackAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFleet(t, redistest.Shared(t).Address(), time.Hour, 2*time.Second, 16)
	first := f.start(t)
	ids := f.queue(t, `
workflow: order
nodes:
  charge: {call: {capability: charge, with: {order: "o"}}}
edges:
  - start -> charge -> end
`, 1)
	charges := func() int {
		f.shop.mu.Lock()
		defer f.shop.mu.Unlock()
		return f.shop.charges["o"]
	}
	until(t, "the call is under way", func() bool { return charges() == 1 })
	send(t, first, syscall.SIGTERM)
	until(t, "the worker drains", func() bool { return strings.Contains(first.log.String(), "a second signal cuts off") })
	send(t, first, syscall.SIGTERM)
	if err := first.cmd.Wait(); err != nil { // at the end of its grace it says what it cut, and fails
		t.Errorf("the worker ended with %v:\n%s", err, first.log.String())
	}
	first.once.Do(func() {})
	f.start(t)
	until(t, "another worker asks what became of the call", func() bool {
		th, err := f.app.Store.Thread(t.Context(), ids[0])
		return err == nil && th.Status == state.StatusInterrupted
	})
	if n := charges(); n != 1 {
		t.Errorf("the call was made %d times", n)
	}
}

func send(t *testing.T, w *fleetWorker, s syscall.Signal) {
	t.Helper()
	if err := signalled(w.cmd.Process, s); err != nil {
		t.Fatal(err)
	}
}

// signalled sends a signal; a process told to stop stands still when it returns.
func signalled(p *os.Process, s syscall.Signal) error {
	if s == syscall.SIGSTOP {
		return childtest.Stop(p)
	}
	return p.Signal(s)
}

// until polls until something holds, for a minute at most.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("a minute passed and still not: %s", what)
		}
	}
}
