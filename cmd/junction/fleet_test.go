package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/worker"
	"junction/graph/workflow"
	"junction/state"
	"junction/state/redis/redistest"
)

// fiveHops is a review of five hops, two of which take effect under a key.
const fiveHops = `
workflow: five-hops
state:
  change:   {type: string}
  issues:   {type: array, reduce: append}
  receipts: {type: array, reduce: append}
nodes:
  read:    {call: {capability: review, with: {text: "${change}"}}, write: {issues: "${result.issues}"}}
  claim:   {call: {capability: record, with: {text: "claim ${change}"}}, write: {receipts: "${[result.receipt]}"}}
  review:  {call: {capability: review, with: {text: "review of ${change}"}}, write: {issues: "${result.issues}"}}
  secrets: {call: {capability: review, with: {text: "secrets of ${change}"}}, write: {issues: "${result.issues}"}}
  publish: {call: {capability: record, with: {text: "publish ${change}"}}, write: {receipts: "${[result.receipt]}"}}
edges:
  - start -> read -> claim -> review -> secrets -> publish -> end
`

// fleet is a Redis, a shop and workers.
type fleet struct {
	address string
	dir     string
	shop    *shop
	lease   time.Duration
	threads int // of a worker at once
	app     *wire.App
}

func newFleet(t testing.TB, address string, took, lease time.Duration, threads int) *fleet {
	t.Helper()
	f := &fleet{address: address + "?prefix=" + uuid.NewString(), dir: t.TempDir(), shop: newShop(t, took), lease: lease, threads: threads}
	writeFiles(t, f.dir, map[string]string{"junction.yaml": f.shop.config()})
	app, err := wire.Open(t.Context(), wire.Settings{Store: f.address, Config: filepath.Join(f.dir, "junction.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, app) })
	f.app = app
	return f
}

// start starts a worker in a process of its own.
func (f *fleet) start(t testing.TB) *fleetWorker {
	t.Helper()
	w := &fleetWorker{cmd: commandIn(context.Background(), t, f.dir, "serve", "--store", f.address, "--config", filepath.Join(f.dir, "junction.yaml"),
		"--lease", f.lease.String(), "--threads", fmt.Sprint(f.threads), "--grace", "10s", "--json", "--metrics", "127.0.0.1:0")}
	w.cmd.Stderr = &w.log
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.kill(t) })
	return w
}

// fleetWorker is one worker's process.
type fleetWorker struct {
	cmd  *exec.Cmd
	log  locked
	once sync.Once
	died time.Time // zero while it lives
}

func (w *fleetWorker) kill(t testing.TB) {
	w.once.Do(func() {
		w.died = time.Now()
		if err := w.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = w.cmd.Wait() // killed
	})
}

// locked is a buffer that a process writes while a test reads it.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// queue leaves n threads of a workflow to the workers.
func (f *fleet) queue(t testing.TB, text string, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("t%04d", i)
	}
	return f.queueAs(t, text, ids)
}

// queueAs leaves threads of these ids to the workers.
func (f *fleet) queueAs(t testing.TB, text string, ids []string) []string {
	t.Helper()
	wf, err := workflow.Parse("w.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(wf.Spec(f.app.Router))
	if err != nil {
		t.Fatal(err)
	}
	queue, err := f.app.Queue()
	if err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		input := map[string]any{}
		if len(wf.Channels) > 0 && wf.Channels[0].Name == "change" {
			input["change"] = ids[i]
		}
		err := worker.Enqueue(t.Context(), queue, ids[i], func(ctx context.Context) error {
			_, err := g.Create(ctx, graph.RunOptions{Store: f.app.Store, Thread: ids[i], Input: input, Definition: wf.Text, Meta: map[string]string{"file": "w.yaml"}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// wait polls until every thread is completed.
func (f *fleet) wait(t testing.TB, ids []string, most time.Duration, workers func() []*fleetWorker) {
	t.Helper()
	limit := time.After(most)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		threads, err := f.app.Store.Threads(t.Context(), state.ThreadFilter{})
		if err != nil {
			t.Fatal(err)
		}
		count := map[state.Status]int{}
		var failure *state.Failure
		for _, th := range threads {
			count[th.Status]++
			if th.Failure != nil {
				failure = th.Failure
			}
		}
		switch {
		case count[state.StatusCompleted] == len(ids):
			return
		case failure != nil:
			t.Fatalf("threads %v; a failure: %+v", count, *failure)
		}
		select {
		case <-tick.C:
		case <-limit:
			for _, w := range workers() {
				t.Log(w.log.String())
			}
			t.Fatalf("after %s the %d threads stand at %v", most, len(ids), count)
		}
	}
}

// takeover is a worker's going on with a thread that another had begun.
type takeover struct {
	at time.Time
	by *fleetWorker
}

// takeovers reads who took over which thread and when from the workers' logs.
func takeovers(t *testing.T, workers []*fleetWorker) map[string][]takeover {
	t.Helper()
	taken := map[string][]takeover{}
	for _, w := range workers {
		for text := range strings.Lines(w.log.String()) {
			var line struct {
				Time        time.Time
				Msg, Thread string
			}
			if json.Unmarshal([]byte(text), &line) == nil && strings.HasPrefix(line.Msg, "going on") {
				taken[line.Thread] = append(taken[line.Thread], takeover{line.Time, w})
			}
		}
	}
	for _, list := range taken {
		slices.SortFunc(list, func(a, b takeover) int { return a.at.Compare(b.at) })
	}
	return taken
}

// stalls are the times from the death of a thread's worker to the thread's next
// commit, or to the takeover by a worker that died before it could commit. Between
// two commits a thread may lose several holders; whose death was the first of them
// is not known, so the first of all deaths counts.
func (f *fleet) stalls(t *testing.T, ids []string, workers []*fleetWorker) []time.Duration {
	t.Helper()
	var found []time.Duration
	taken := takeovers(t, workers)
	for _, id := range ids {
		checkpoints, err := f.app.Store.Checkpoints(t.Context(), id, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(checkpoints)
		for i := 1; i < len(checkpoints); i++ {
			from, to := checkpoints[i-1].Created, checkpoints[i].Created
			var death time.Time
			for _, w := range workers {
				if w.died.After(from) && w.died.Before(to) && (death.IsZero() || w.died.Before(death)) {
					death = w.died
				}
			}
			for _, o := range taken[id] {
				if death.IsZero() || !o.at.After(death) || !o.at.Before(to) {
					continue
				}
				if o.by.died.IsZero() || !o.by.died.Before(to) {
					found = append(found, to.Sub(death))
					break
				}
				found = append(found, o.at.Sub(death))
				death = o.by.died
			}
		}
	}
	return found
}

// disturb runs n threads on three workers, of which one is killed at each
// interval and another started, and checks what the fleet promises. stall is the
// longest that a thread may stand still after its worker's death.
func (f *fleet) disturb(t *testing.T, n int, every, most, stall time.Duration) {
	var mu sync.Mutex
	workers := []*fleetWorker{f.start(t), f.start(t), f.start(t)}
	all := func() []*fleetWorker {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(workers)
	}
	begun := time.Now()
	killed := 0
	ever := all()
	over := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-over:
				return
			}
			killed++
			all()[i%3].kill(t)
			next := f.start(t)
			ever = append(ever, next)
			mu.Lock()
			workers[i%3] = next
			mu.Unlock()
		}
	})
	ids := f.queue(t, fiveHops, n)
	f.wait(t, ids, most, all)
	took := time.Since(begun)
	close(over)
	killing.Wait()
	f.shop.assertOnce(t, 2*n)
	if killed < 2 {
		t.Errorf("only %d workers were killed while the threads ran: the test shows little", killed)
	}
	stalls := f.stalls(t, ids, ever)
	longest := time.Duration(0)
	for _, s := range stalls {
		longest = max(longest, s)
	}
	t.Logf("%d threads in %s, %d kills, %d stalls, longest %s (lease %s)", n, took.Round(time.Millisecond), killed, len(stalls), longest.Round(time.Millisecond), f.lease)
	if longest > stall {
		t.Errorf("a thread stood still for %s after its worker's death, more than %s", longest, stall)
	}
}

// TestAFleetWhoseWorkersAreKilledCompletesEveryThreadOnce is the short form, which
// leaves the length of stalls to the soak tests.
func TestAFleetWhoseWorkersAreKilledCompletesEveryThreadOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	f := newFleet(t, redistest.Shared(t).Address(), 100*time.Millisecond, 3*time.Second, 8)
	f.disturb(t, 200, 2*time.Second, 2*time.Minute, time.Minute)
}
