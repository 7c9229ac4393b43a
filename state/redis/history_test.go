//go:build unix

package redis

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"junction/state"
	"junction/state/redis/redistest"
)

// trial is eight processes that work on a few threads while they, their
// connections and their server are disturbed.
type trial struct {
	t       *testing.T
	server  *redistest.Server
	seed    uint64
	rounds  int // of each process: in each it is disturbed in every way
	prefix  string
	dir     string
	threads []string

	mu    sync.Mutex
	names []string
	died  map[string]time.Time // when nothing of a killed process could take effect any more
}

const (
	trialProcesses = 8
	trialThreads   = 4
)

// run returns what the processes asked and were answered. Meanwhile disturb
// happens to the server, again and again.
func (tr *trial) run(disturb func(over <-chan struct{})) []call {
	t := tr.t
	tr.prefix, tr.dir, tr.died = uuid.NewString(), t.TempDir(), make(map[string]time.Time)
	s, err := Open(t.Context(), tr.server.Address(), &Options{Prefix: tr.prefix})
	must(t, err)
	for i := range trialThreads {
		id := fmt.Sprint("thread-", i)
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: id, Workflow: "trial", Append: map[string][]jsonText{"log": nil}})
		must(t, err)
		tr.threads = append(tr.threads, id)
	}
	must(t, s.Close())
	var victims [trialProcesses]*victim
	for i := range victims {
		victims[i] = newVictim(tr, i)
	}
	var under sync.WaitGroup
	for _, v := range victims {
		under.Go(v.suffer)
	}
	over := make(chan struct{})
	go func() { under.Wait(); close(over) }()
	disturb(over)
	<-over
	var all []call
	for _, name := range tr.names {
		calls, err := readCalls(tr.file(name))
		must(t, err)
		if n := len(calls); n > 0 && calls[n-1].answer == nil {
			calls[n-1].end = tr.died[name].UnixNano()
		}
		all = append(all, calls...)
	}
	return all
}

func (tr *trial) file(name string) string { return filepath.Join(tr.dir, name+".jsonl") }

func (tr *trial) lives(name string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.names = append(tr.names, name)
}

func (tr *trial) dies(name string, at time.Time) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.died[name] = at
}

// ofThread selects the calls on a thread, in the order in which they were made.
func ofThread(calls []call, thread string) []call {
	var out []call
	for _, c := range calls {
		if c.Thread == thread {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b call) int { return int(a.called - b.called) })
	return out
}

// check fails the test unless an order of whole operations explains the calls on
// each thread. slack is how far apart their clocks may be, ns.
func (tr *trial) check(calls []call, slack int64) {
	tr.t.Helper()
	for _, thread := range tr.threads {
		ops := history(ofThread(calls, thread), slack)
		begun := time.Now()
		got := porcupine.CheckOperationsTimeout(threadModel, ops, checkWithin)
		tr.t.Logf("%s: %d operations are %v, found in %v", thread, len(ops), got, time.Since(begun).Round(time.Millisecond))
		if got == porcupine.Ok {
			continue
		}
		tr.t.Errorf("seed %d: the history of %s, %d operations, is %v: no order of them on a store that keeps its word explains it\n%s",
			tr.seed, thread, len(ops), got, tr.explain(thread, ops))
	}
}

// explain draws the history and says how far it can be explained.
func (tr *trial) explain(thread string, ops []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(threadModel, ops, 20*time.Second)
	path := filepath.Join(tr.t.ArtifactDir(), thread+".html")
	if err := porcupine.VisualizePath(threadModel, info, path); err != nil {
		tr.t.Errorf("draw the history: %v", err)
	}
	var longest []porcupine.Operation
	for _, part := range info.PartialLinearizationsOperations() {
		for _, way := range part {
			if len(way) > len(longest) {
				longest = way
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d can be ordered (drawn in %s with -artifacts); the last of them, and what cannot follow:\n", len(longest), len(ops), path)
	st := threadModel.Init()
	placed := make(map[string]bool)
	for i, op := range longest {
		_, st = threadModel.Step(st, op.Input, op.Output)
		placed[op.Input.(step).ID] = true
		if i >= len(longest)-12 {
			fmt.Fprintln(&b, "  ", threadModel.DescribeOperation(op.Input, op.Output))
		}
	}
	fmt.Fprintln(&b, "  state:", threadModel.DescribeState(st))
	left := 0
	for _, op := range ops {
		if !placed[op.Input.(step).ID] && !op.Input.(step).blind && left < 6 {
			left++
			fmt.Fprintln(&b, "  ? ", threadModel.DescribeOperation(op.Input, op.Output))
		}
	}
	return b.String()
}

// count says how often each operation ended in each way.
func count(calls []call) map[string]int {
	out := make(map[string]int)
	for _, c := range calls {
		end := "none"
		if c.answer != nil {
			end = c.answer.End
		}
		if c.lost > 0 {
			out["tried again"]++
		}
		out[c.Op+": "+end]++
		out[end]++
	}
	return out
}

// try holds a trial to the model.
func (tr *trial) try(disturb func(over <-chan struct{})) {
	tr.t.Helper()
	wall, begun := time.Now().UnixNano(), time.Now()
	calls := tr.run(disturb)
	// All processes and the server read the same clock; it may have been set.
	set := time.Now().UnixNano() - wall - time.Since(begun).Nanoseconds()
	tr.check(calls, max(set, -set)+time.Microsecond.Nanoseconds())
	tr.shows(calls)
}

// TestHistoryOfManyProcesses holds leases, records and commits of a store to what
// one thread of execution would do, though eight processes share it, are stopped
// for longer than their leases last and killed in the middle of an operation, and
// lose replies and connections.
func TestHistoryOfManyProcesses(t *testing.T) {
	t.Parallel()
	tr := &trial{t: t, server: redistest.Shared(t), seed: 1, rounds: 2}
	tr.try(func(<-chan struct{}) {})
}

// TestHistoryOverRestarts is the same while the server is killed, started again
// from its file, and stopped for as long as a lease.
func TestHistoryOverRestarts(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			tr := &trial{t: t, server: redistest.Start(t, "appendonly", "yes", "appendfsync", "always"), seed: 10 + seed, rounds: 6}
			tr.try(tr.strike)
		})
	}
}

// strike kills the server and stops it in turn, until the trial is over.
func (tr *trial) strike(over <-chan struct{}) {
	tick := time.NewTicker(400 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if n%2 == 0 {
			tr.server.Restart()
			continue
		}
		tr.server.Stop()
		select {
		case <-over:
		case <-tick.C:
		}
		tr.server.Cont()
	}
}

// shows fails the test when something did not happen that the history is about.
func (tr *trial) shows(calls []call) {
	tr.t.Helper()
	seen := count(calls)
	for _, c := range calls {
		if c.answer != nil && c.answer.End == endFailed {
			tr.t.Errorf("%s of %s by %s: %s", c.Op, c.Thread, c.Owner, c.answer.Why)
		}
	}
	for _, what := range []string{
		"acquire: ok", "acquire: busy", "renew: ok", "put records: ok", "commit: ok", "lease lost", "tried again", "none",
	} {
		if seen[what] == 0 {
			tr.t.Errorf("nothing ended as %q, so nothing is shown of it: %v", what, seen)
		}
	}
	tr.t.Log(seen)
}
