//go:build soak && unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soakSeed is what the misfortunes are drawn from: JUNCTION_SOAK_SEED, or the time.
func soakSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("JUNCTION_SOAK_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// mishap is something that is broken for a while. No two of a kind are at once:
// somebody has to do the work.
type mishap struct {
	kind string // of which there is one at most
	over time.Time
	mend func()
}

// disturb breaks things until a time, mends each when that is due and what is left
// at the end, and prints what it did.
func (m *mixed) disturb(t *testing.T, end time.Time, draw *rand.Rand) {
	t.Helper()
	count := map[string]int{}
	var under []mishap
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	next := time.Now()
	for now := time.Now(); now.Before(end); now = <-tick.C {
		kept := under[:0]
		for _, u := range under {
			if now.Before(u.over) {
				kept = append(kept, u)
				continue
			}
			u.mend()
		}
		under = kept
		if now.Before(next) {
			continue
		}
		next = now.Add(time.Second + time.Duration(draw.Int64N(int64(3*time.Second))))
		kind, what, most := m.plan(draw)
		busy := false
		for _, u := range under {
			busy = busy || u.kind == kind
		}
		if busy {
			continue
		}
		count[strings.Fields(what)[0]+" "+kind]++
		lasts := 200*time.Millisecond + time.Duration(draw.Int64N(int64(most)))
		under = append(under, mishap{kind, now.Add(lasts), m.breakIt(t, draw, kind, what)})
	}
	for _, u := range under {
		u.mend()
	}
	t.Logf("done: %v", count)
}

// plan draws what breaks, how, and for how long at most.
func (m *mixed) plan(draw *rand.Rand) (kind, what string, most time.Duration) {
	switch n := draw.IntN(100); {
	case n < 20:
		return "reviewer", "kill", 6 * time.Second
	case n < 30:
		return "reviewer", "stop", 8 * time.Second
	case n < 40:
		return "press", "kill", 6 * time.Second
	case n < 45:
		return "press", "stop", 8 * time.Second
	case n < 60:
		return []string{"reviewer", "press"}[draw.IntN(2)], []string{"fail=0.5", "slow=1s", "hang", "fail=1.0"}[draw.IntN(4)], 8 * time.Second
	case n < 70:
		return "worker", "kill", 3 * time.Second
	case n < 78:
		return "worker", "stop", 12 * time.Second
	case n < 85:
		return "worker", "drain", time.Second
	case n < 90:
		return "redis", "kill", 3 * time.Second
	case n < 93:
		return "redis", "stop", 3 * time.Second
	case n < 97:
		return "consul", "kill", 8 * time.Second
	}
	return "consul", "stop", 8 * time.Second
}

// breakIt breaks one and returns what mends it.
func (m *mixed) breakIt(t *testing.T, draw *rand.Rand, kind, what string) (mend func()) {
	t.Helper()
	switch kind {
	case "redis":
		if what == "stop" {
			m.redis.Stop()
			return m.redis.Cont
		}
		m.redis.Kill()
		return m.redis.Restart
	case "consul":
		if what == "stop" {
			m.agent.Stop()
			return m.agent.Cont
		}
		m.agent.Kill()
		return m.agent.Restart
	case "worker":
		return m.breakWorker(t, draw, what)
	}
	// Reviewers and presses take turns in the list.
	s := m.servers[2*draw.IntN(len(m.servers)/2)]
	if kind == "press" {
		s = m.servers[1+2*draw.IntN(len(m.servers)/2)]
	}
	switch what {
	case "kill":
		s.kill(t)
		return func() { s.start(t) }
	case "stop":
		if kind == "press" {
			betweenWrites(t, m.ledger, func() { s.send(t, syscall.SIGSTOP) })
		} else {
			s.send(t, syscall.SIGSTOP)
		}
		return func() { s.send(t, syscall.SIGCONT) }
	}
	s.ill(t, what)
	return func() { s.ill(t, "") }
}

// breakWorker stops any worker, and kills or drains any but the first.
func (m *mixed) breakWorker(t *testing.T, draw *rand.Rand, what string) (mend func()) {
	t.Helper()
	if what == "stop" {
		w := m.workers[draw.IntN(len(m.workers))]
		send(t, w, syscall.SIGSTOP)
		return func() { send(t, w, syscall.SIGCONT) }
	}
	n := 1 + draw.IntN(len(m.workers)-1)
	w := m.workers[n]
	if what == "kill" {
		w.kill(t)
	} else {
		send(t, w, syscall.SIGTERM)
		if err := w.cmd.Wait(); err != nil {
			text := w.log.String()
			t.Logf("a worker that was drained ended with %v: …%s", err, text[max(0, len(text)-600):])
		}
		w.once.Do(func() {})
	}
	return func() { m.workers[n] = m.start(t) }
}

// heal waits until all is well: every server is known to Consul and has been for a
// few of its looks, so that what is measured is the worker at its work.
func (m *mixed) heal(t *testing.T) {
	t.Helper()
	until(t, "Consul knows every server", func() bool {
		listed, err := m.agent.Client().Agent().Services()
		return err == nil && len(listed) == len(m.servers)
	})
	depth := func() (due int) {
		queue, err := m.app.Queue()
		if err != nil {
			t.Fatal(err)
		}
		due, _, err = queue.QueueLen(t.Context())
		if err != nil {
			return -1
		}
		return due
	}
	until(t, fmt.Sprintf("the queue is worked off (%d due)", depth()), func() bool { d := depth(); return d >= 0 && d < 20 })
}
