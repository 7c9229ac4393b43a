//go:build soak && unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"junction/router/consul/consultest"
	"junction/state"
	"junction/state/redis/redistest"
)

// reviewPublishAsk is reviewAndPublish whose thread asks a person at its end, where
// its input says so. A node runs again where its hop found nobody in time.
const reviewPublishAsk = `
workflow: review-publish-ask
state:
  change:  {type: string}
  asks:    {type: boolean}
  issues:  {type: array, reduce: append}
  receipt: {type: integer}
  agreed:  {type: boolean}
nodes:
  review:
    call:  {capability: code-review, with: {code: "${change}", language: any}, timeout: 3s}
    write: {issues: "${result.issues}"}
    retry: {attempts: 10, delay: 500ms, cap: 5s}
  publish:
    call:  {capability: publish, with: {text: "${change}"}, timeout: 3s}
    write: {receipt: "${result.receipt}"}
    retry: {attempts: 10, delay: 500ms, cap: 5s}
  confirm:
    ask:   {question: "Is ${change} as it should be?", answer: boolean}
    write: {agreed: "${answer}"}
edges:
  - start -> review -> publish
  - {from: publish, when: "${asks}", to: confirm, else: end}
  - confirm -> end
`

// soakServices is what the operator says of the services in Consul; %s is its URL.
const soakServices = `
discovery:
  consul: %s
  services:
    review-secrets:
      offers: [{capability: code-review, tool: review, effect: safe}]
    press:
      offers: [{capability: publish, tool: publish, effect: conditional, key: idempotencyKey, ledger: {name: published, keeps: 720h}}]
`

const (
	mixedRate  = 12 // threads a second
	asksEach   = 30 // one thread in so many asks; every other one of those is answered
	mixedLease = 5 * time.Second
)

// mixed is everything at once.
type mixed struct {
	*fleet
	redis   *redistest.Server
	agent   *consultest.Agent
	servers []*liveServer
	workers []*fleetWorker // the first one lives from beginning to end
	ledger  string
	asked   chan string // threads whose question is to be answered
}

// soakFor is how long a soak takes: JUNCTION_SOAK, or half an hour.
func soakFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("JUNCTION_SOAK")
	if text == "" {
		return 30 * time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute {
		t.Fatalf("JUNCTION_SOAK=%s: how long it takes, at least 1m", text)
	}
	return d
}

func newMixed(t *testing.T) *mixed {
	t.Helper()
	dir := t.TempDir()
	m := &mixed{
		redis: redistest.Start(t, "appendonly", "yes", "appendfsync", "always"), agent: consultest.Start(t),
		ledger: filepath.Join(dir, "ledger.db"), asked: make(chan string, 10_000),
	}
	for n := range 3 {
		for _, kind := range []string{"secrets", "ledger"} {
			m.servers = append(m.servers, startLive(t, dir, fmt.Sprintf("%s-%d", kind, n+1), kind, 50*time.Millisecond,
				"--consul", m.agent.Address(), "--check-interval", "2s", "--ledger-name", "published"))
		}
	}
	m.fleet = newLiveFleet(t, dir, m.redis.Address(), fmt.Sprintf(soakServices, m.agent.Address()), mixedLease)
	for range 3 {
		m.workers = append(m.workers, m.start(t))
	}
	return m
}

// TestSoakMixed keeps threads coming while servers, workers, Redis and Consul are
// killed, stopped and started again at random: none is lost, nothing takes effect
// twice, and the worker that lives through it all neither grows nor gathers
// goroutines.
func TestSoakMixed(t *testing.T) {
	most, seed := soakFor(t), soakSeed(t)
	t.Logf("JUNCTION_SOAK_SEED=%d", seed)
	m := newMixed(t)
	at := m.workers[0].servesAt(t)
	put := m.feeder(t, reviewPublishAsk)
	begun := time.Now()
	var around sync.WaitGroup
	var fed fedThreads
	feeding, stop := context.WithTimeout(t.Context(), most)
	defer stop()
	around.Go(func() { fed = m.feed(feeding, t, put) })
	answered := 0
	around.Go(func() { answered = m.answer(t) })

	var sizes []footprint
	measure := func(when string) { sizes = append(sizes, measured(t, at, when)) }
	for i, until := range []time.Duration{most / 6, most / 2, most - 5*time.Second} {
		m.disturb(t, begun.Add(until), rand.New(rand.NewPCG(seed, uint64(i))))
		m.heal(t)
		measure([]string{"start", "middle", "end"}[i])
	}
	around.Wait()
	m.settle(t, fed, answered)
	measure("idle")
	for _, s := range sizes {
		t.Logf("%-7s the first worker has %5.1f MiB in memory, %4.1f of them live, and %d goroutines", s.when, s.mib, s.live, s.goroutines)
	}
	// Of threads that are done a worker keeps digests of their sessions, of which it
	// remembers 10,000; the garbage collector takes five times what is live.
	start, end := sizes[0], sizes[2]
	if end.mib > 1.5*start.mib+32 {
		t.Errorf("the worker grew from %.1f to %.1f MiB", start.mib, end.mib)
	}
	if end.goroutines > start.goroutines*3/2+50 {
		t.Errorf("the worker went from %d to %d goroutines", start.goroutines, end.goroutines)
	}
	m.figures(t, at)
}

// fedThreads is what was left to the workers.
type fedThreads struct{ threads, asking, toAnswer int }

// feed leaves threads to the workers until ctx ends. While the store is away it goes
// on trying with the same thread.
func (m *mixed) feed(ctx context.Context, t *testing.T, put func(context.Context, string, map[string]any) error) (fed fedThreads) {
	defer close(m.asked)
	tick := time.NewTicker(time.Second / mixedRate)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fed
		}
		id, asks := fmt.Sprintf("t%06d", fed.threads), fed.threads%asksEach == 0
		// What was begun is brought to its end, past ctx.
		eventuallyOffTest(t, 2*time.Minute, func() error {
			err := put(t.Context(), id, map[string]any{"change": id, "asks": asks})
			if errors.Is(err, state.ErrExists) {
				return nil // the answer to an earlier try was lost
			}
			return err
		})
		fed.threads++
		if asks {
			fed.asking++
			if fed.asking%2 == 0 {
				fed.toAnswer++
				m.asked <- id
			}
		}
	}
}

// eventuallyOffTest tries until nothing is wrong, in any goroutine.
func eventuallyOffTest(t *testing.T, most time.Duration, try func() error) {
	limit := time.Now().Add(most)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Errorf("after %s: %v", most, err)
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}

// answer is the person: a process of its own for each answer, once it is asked for.
func (m *mixed) answer(t *testing.T) (answered int) {
	for id := range m.asked {
		eventuallyOffTest(t, 5*time.Minute, func() error {
			th, err := m.app.Store.Thread(t.Context(), id)
			switch {
			case err != nil:
				return err
			case th.Status == state.StatusCompleted:
				return nil // the answer of an earlier try got through
			case th.Status != state.StatusInterrupted:
				return fmt.Errorf("thread %s is %s", id, th.Status)
			}
			out, err := commandIn(t.Context(), t, m.dir, "resume", id, "--answer", "true", "--detach", "--store", m.address,
				"--config", filepath.Join(m.dir, "junction.yaml")).CombinedOutput()
			if err != nil {
				return fmt.Errorf("resume %s: %w: %s", id, err, out)
			}
			return nil
		})
		answered++
	}
	return answered
}
