//go:build soak && unix

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"junction/state"
)

// settle waits for the last threads and holds what became of all to what should.
func (m *mixed) settle(t *testing.T, fed fedThreads, answered int) {
	t.Helper()
	var count map[state.Status]int
	var failed *state.Thread
	limit := time.Now().Add(3 * time.Minute)
	for {
		var err error
		if count, failed, err = m.stand(t.Context()); err != nil {
			t.Fatal(err)
		}
		if count[state.StatusPending]+count[state.StatusRunning] == 0 && count[state.StatusCompleted] >= fed.threads-fed.asking+fed.toAnswer {
			break
		}
		if time.Now().After(limit) {
			t.Errorf("threads have not come to an end")
			break
		}
		<-time.After(time.Second)
	}
	t.Logf("%d threads: %v; %d questions, %d answered", fed.threads, count, fed.asking, answered)
	waiting := fed.asking - fed.toAnswer
	if count[state.StatusCompleted] != fed.threads-waiting || count[state.StatusInterrupted] != waiting {
		t.Errorf("%d are completed and %d wait, want %d and %d", count[state.StatusCompleted], count[state.StatusInterrupted], fed.threads-waiting, waiting)
		m.odd(t)
	}
	if failed != nil {
		t.Errorf("thread %s failed: %+v", failed.ID, *failed.Failure)
	}
	assertLedgerOnce(t, m.ledger, fed.threads)
}

// odd shows some threads that are neither completed nor wait for their own question.
func (m *mixed) odd(t *testing.T) {
	threads, err := m.app.Store.Threads(t.Context(), state.ThreadFilter{})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, th := range threads {
		if th.Status == state.StatusCompleted || th.Status == state.StatusInterrupted && th.Step >= 2 || shown == 5 {
			continue
		}
		shown++
		out, _ := commandIn(t.Context(), t, m.dir, "explain", th.ID, "--store", m.address).CombinedOutput() //nolint:errcheck // it is shown
		t.Logf("%s is %s, step %d, failure %v\n%s", th.ID, th.Status, th.Step, th.Failure, out)
	}
}

// footprint is what a worker takes up.
type footprint struct {
	when       string
	mib        float64 // resident
	live       float64 // MiB that its last garbage collection left
	goroutines int
}

func measured(t *testing.T, at, when string) footprint {
	t.Helper()
	_, text := fetch(t, at+"/metrics")
	families := parseMetrics(t, text)
	bytes, _ := reading(families, "process_resident_memory_bytes")
	goroutines, _ := reading(families, "go_goroutines")
	next, _ := reading(families, "go_memstats_next_gc_bytes")
	live := next / (1 + collectAt/100.) // the next one comes when it has grown by so much
	return footprint{when, bytes / (1 << 20), live / (1 << 20), int(goroutines)}
}

// figures are what the first worker counted.
func (m *mixed) figures(t *testing.T, at string) {
	t.Helper()
	_, text := fetch(t, at+"/metrics")
	families := parseMetrics(t, text)
	var said []string
	for _, name := range []string{
		"junction_hop_attempts_total", "junction_hop_retries_total", "junction_retry_budget_exhausted_total",
		"junction_fenced_writes_total", "junction_supersteps_total",
	} {
		n, _ := reading(families, name)
		said = append(said, fmt.Sprintf("%s %.0f", name, n))
	}
	for _, metric := range families["junction_node_retries_total"].GetMetric() {
		said = append(said, fmt.Sprintf("junction_node_retries_total %v %.0f", metric.GetLabel(), metric.GetCounter().GetValue()))
	}
	t.Log(strings.Join(said, "; "))
}
