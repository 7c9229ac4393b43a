//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/router/consul"
)

// TestConsulKilledInMidRunCostsNothing kills the agent under a run and two
// workers, starts a worker while it is away, and lets it come back knowing
// nothing: the servers tell it of themselves again, and the new worker goes on
// alone.
func TestConsulKilledInMidRunCostsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFound(t)
	a, b := f.newMember(t, nil, nil), f.newMember(t, nil, nil)
	registered := []*consul.Registration{f.register(t, a, nil), f.register(t, b, nil)}
	workers := []*fleetWorker{f.start(t), f.start(t)}
	ids := f.queueAs(t, rounds, []string{"t0", "t1", "t2", "t3"})
	writeFiles(t, f.dir, map[string]string{"w.yaml": rounds})
	here := commandIn(t.Context(), t, f.dir, "run", "w.yaml", "--store", f.address, "--thread", "here", "--json")
	var said bytes.Buffer
	here.Stderr = &said
	if err := here.Start(); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, "here")
	until(t, "the run has begun", func() bool {
		_, err := f.app.Store.Thread(t.Context(), "here")
		return err == nil
	})
	more(t, "both servers are called", 50, a, b)

	f.agent.Kill()
	more(t, "both are called while Consul is away", 200, a, b)
	late := f.start(t)
	until(t, "a worker that starts now says that it knows no server", func() bool { return strings.Contains(late.log.String(), "no thread is taken yet") })
	more(t, "both are called still", 100, a, b)

	f.agent.Restart()
	until(t, "the servers have registered again", func() bool {
		listed, err := f.agent.Client().Agent().Services()
		return err == nil && listed[registered[0].ID()] != nil && listed[registered[1].ID()] != nil
	})
	until(t, "the late worker knows them", func() bool { return strings.Contains(late.log.String(), "servers are known") })
	for _, w := range workers { // what they had in hand is the late one's now
		send(t, w, syscall.SIGTERM)
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("a worker that drained ended with %v:\n%s", err, w.log.String())
		}
		w.once.Do(func() {})
	}
	more(t, "both servers are called by the late worker", 100, a, b)
	f.end(t, ids, late)
	if err := here.Wait(); err != nil {
		t.Errorf("the run: %v\n%s", err, said.String())
	}
	stdout, _, _ := junctionIn(t, f.dir, "explain", "here", "--limit", "0", "--store", f.address)
	if stale := strings.Count(stdout, "decided on the last known servers"); stale == 0 || stale >= strings.Count(stdout, "picked ") {
		t.Errorf("explain marks %d of %d decisions as made on the last known servers", stale, strings.Count(stdout, "picked "))
	}
	once(t, a, b)
}

// TestALateServerGetsItsShareOfARunUnderWay registers a server in the middle.
func TestALateServerGetsItsShareOfARunUnderWay(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFound(t)
	a, late := f.newMember(t, nil, nil), f.newMember(t, nil, nil)
	f.register(t, a, nil)
	w := f.start(t)
	ids := f.queueAs(t, rounds, []string{"t0", "t1", "t2", "t3"})
	more(t, "the first server is called", 100, a)
	f.register(t, late, nil)
	const window = 400
	share := 0.0
	until(t, "the newcomer has its half, after a slow start", func() bool {
		beforeA, beforeLate := a.calls.Load(), late.calls.Load()
		until(t, "further calls", func() bool { return a.calls.Load()+late.calls.Load() >= beforeA+beforeLate+window })
		gotA, gotLate := float64(a.calls.Load()-beforeA), float64(late.calls.Load()-beforeLate)
		share = gotLate / (gotA + gotLate)
		return share > 0.4 // four standard deviations below a half
	})
	if share > 0.7 {
		t.Errorf("the newcomer takes %.0f %% of the calls, want about half", 100*share)
	}
	f.end(t, ids, w)
	once(t, a, late)
}

// TestADeregisteredServerGetsNothing takes one server out, then the last one: the
// calls that nobody can take fail after a fresh look, the threads after a few
// tries, and a thread that is resumed goes on once there is a server again.
func TestADeregisteredServerGetsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFound(t)
	a, b := f.newMember(t, nil, nil), f.newMember(t, nil, nil)
	ra, rb := f.register(t, a, nil), f.register(t, b, nil)
	f.start(t)
	ids := f.queueAs(t, rounds, []string{"t0", "t1"})
	more(t, "both are called", 50, a, b)
	leave(t, rb)
	quiet(t, "a server that was deregistered", 100, b, a)

	leave(t, ra)
	queue, err := f.app.Queue()
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the worker has left the threads to others in vain", func() bool {
		due, later, err := queue.QueueLen(t.Context())
		return err == nil && due+later == 0
	})
	for _, id := range ids {
		th, err := f.app.Store.Thread(t.Context(), id)
		if err != nil || th.Failure == nil || th.Failure.Code != "no_candidate" {
			t.Fatalf("thread %s: %+v, %v; want it to have failed for want of a server", id, th, err)
		}
	}
	f.register(t, b, nil)
	until(t, "Consul names the server to whoever looks", func() bool {
		_, _, code := junctionIn(t, f.dir, "route", ".", "--capability", "step")
		return code == exitDone
	})
	for _, id := range ids {
		if stdout, stderr, code := junctionIn(t, f.dir, "resume", id, "--detach", "--store", f.address); code != exitDone {
			t.Fatalf("resume: exit %d\n%s%s", code, stdout, stderr)
		}
	}
	more(t, "the threads go on at the server that is back", 50, b)
	for _, id := range ids {
		until(t, "each thread has been taken up", func() bool {
			th, err := f.app.Store.Thread(t.Context(), id)
			return err == nil && th.Failure == nil
		})
	}
	f.end(t, ids)
	once(t, a, b)
}

func leave(t testing.TB, r *consul.Registration) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// checked has Consul look at a member's health each second.
func (m *member) checked(strikes int) func(*consul.Service) {
	return func(s *consul.Service) {
		s.Check = consul.Check{
			URL: "http://" + m.address + "/health", Interval: time.Second, Strikes: strikes, DeregisterAfter: time.Hour,
			Ready: func(context.Context) error {
				if m.ill.Load() {
					return errors.New("it does not work")
				}
				return nil
			},
		}
	}
}

// TestACriticalServerGetsNothing has a check fail whose server would answer
// calls, and pass again; and a server that says from the start that its
// capability does not work.
func TestACriticalServerGetsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFound(t)
	well, ill, never := f.newMember(t, nil, nil), f.newMember(t, nil, nil), f.newMember(t, nil, nil)
	never.ill.Store(true)
	for _, m := range []*member{well, never} {
		f.register(t, m, m.checked(3))
	}
	fragile := f.register(t, ill, ill.checked(1))
	w := f.start(t)
	ids := f.queueAs(t, rounds, []string{"t0", "t1"})
	more(t, "both that pass are called", 50, well, ill)
	ill.ill.Store(true)
	until(t, "Consul finds it critical", func() bool {
		checks, _, err := f.agent.Client().Health().State(api.HealthCritical, nil)
		return err == nil && slices.ContainsFunc(checks, func(c *api.HealthCheck) bool { return c.ServiceID == fragile.ID() })
	})
	quiet(t, "a server that went critical", 100, ill, well)
	ill.ill.Store(false)
	more(t, "it is called again once it passes", 50, ill)
	if n := never.calls.Load(); n != 0 {
		t.Errorf("a server that never passed got %d calls", n)
	}
	f.end(t, ids, w)
	once(t, well, ill)
}

// TestWeightsOfThreeToOneShareTheCallsSo has enough calls that a share of three
// quarters is told from others; how long a call takes sways it a little.
func TestWeightsOfThreeToOneShareTheCallsSo(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	f := newFound(t)
	heavy, light := f.newMember(t, nil, nil), f.newMember(t, nil, nil)
	f.register(t, heavy, func(s *consul.Service) { s.WeightPassing = 3 })
	f.register(t, light, func(s *consul.Service) { s.WeightPassing = 1 })
	w := f.start(t)
	ids := f.queueAs(t, steps, []string{"t0", "t1", "t2", "t3"})
	more(t, "the lighter one is called", 300, light)
	f.end(t, ids, w)
	share := float64(heavy.calls.Load()) / float64(heavy.calls.Load()+light.calls.Load())
	t.Logf("%d calls and %d: %.1f %%", heavy.calls.Load(), light.calls.Load(), 100*share)
	if share < 0.62 || share > 0.88 {
		t.Errorf("the heavier server got %.1f %% of the calls, want about 75 %%", 100*share)
	}
}
