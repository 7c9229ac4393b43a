package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
)

// charge is a node with one conditional hop of a second: its intent is durable
// before the request, its outcome after it, and the server's ledger takes a key
// once.
func (f *fleet) charge(ctx context.Context, in graph.Input) (graph.Update, error) {
	j := state.JournalFrom(ctx)
	h, err := j.Begin("", state.Hash([]byte(in.Task.Node)))
	if err != nil {
		return graph.Update{}, err
	}
	defer h.Close()
	if _, replayed := h.Replay(); !replayed {
		rec := state.Record{Attempt: len(h.Prior()) + 1, Effect: state.Conditional, Key: h.Key()}
		if err := h.Intent(ctx, rec); err != nil {
			return graph.Update{}, err
		}
		if err := j.MaySend(); err != nil {
			return graph.Update{}, err
		}
		// What has left reaches the server, whatever becomes of the worker.
		<-time.After(time.Second / 2)
		f.sent.add(j.Scope().Thread)
		f.effects.add(h.Key())
		<-time.After(time.Second / 2)
		rec.Status, rec.Final, rec.Result = state.CallSuccess, true, json.RawMessage(`true`)
		if err := h.Outcome(ctx, rec, true); err != nil {
			return graph.Update{}, err
		}
	}
	return graph.Update{Writes: []graph.Write{{Channel: "log", Value: []any{in.Task.Node}}}}, nil
}

func TestThreadsRunOnceEachWhileWorkersAreKilled(t *testing.T) {
	const threads, nodes, workers = 200, 5, 3
	synctest.Test(t, func(t *testing.T) {
		var f *fleet
		f = newFleet(t, nodes, func(ctx context.Context, in graph.Input) (graph.Update, error) { return f.charge(ctx, in) })
		var ids []string
		for i := range threads {
			ids = append(ids, fmt.Sprintf("t%03d", i))
		}
		f.enqueue(t, ids...)
		running := make([]*process, workers)
		born := 0
		start := func(i int) {
			running[i] = f.start(t, fmt.Sprint("w", born), &worker.Options{Threads: 30})
			born++
		}
		for i := range running {
			start(i)
		}
		random := rand.New(rand.NewPCG(3, 0))
		kills := time.NewTicker(5 * time.Second)
		defer kills.Stop()
		limit := time.After(10 * time.Minute)
		for {
			left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return f.status(t, id) == state.StatusCompleted })
			if len(left) == 0 {
				break
			}
			select {
			case <-kills.C:
				i := random.IntN(workers)
				running[i].kill()
				start(i)
			case <-limit:
				t.Fatalf("%d threads left, as %s: %s", len(left), left[0], f.status(t, left[0]))
			}
		}
		if born < workers+3 {
			t.Errorf("only %d workers were killed", born-workers)
		}
		if n := f.effects.names(); n != threads*nodes {
			t.Errorf("%d effects, want %d", n, threads*nodes)
		}
		for _, id := range ids {
			snap, err := f.Load(t.Context(), id, 0)
			if err != nil || len(snap.Logs["log"]) != nodes || snap.Step != nodes {
				t.Errorf("thread %s: %d nodes in %d steps, %v", id, len(snap.Logs["log"]), snap.Step, err)
			}
		}
		if total(&f.sent) == threads*nodes {
			t.Error("no worker died between a request and its outcome: nothing was shown")
		}
	})
}

func total(c *tally) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.n {
		n += k
	}
	return n
}

func TestTenThousandWaitingThreadsAreNotAskedForOverAndOver(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration             // a thread
		after func(i int) time.Duration // when each is due
		most  int64                     // claims of two workers in a minute
	}{
		// Every place is taken, so nobody asks.
		"due, and no room": {time.Hour, func(int) time.Duration { return 0 }, 40},
		// Six thousand are run, most of them claimed with others.
		"due one by one": {time.Millisecond, func(i int) time.Duration { return time.Duration(i) * 10 * time.Millisecond }, 2500},
		"due tomorrow":   {time.Hour, func(int) time.Duration { return 24 * time.Hour }, 2 * 60},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, sleeping(c.takes))
				for i := range 10_000 {
					id := fmt.Sprint("t", i)
					if _, err := f.g.Create(t.Context(), graph.RunOptions{Store: f.Store, Thread: id}); err != nil {
						t.Fatal(err)
					}
					if err := f.Enqueue(t.Context(), id, c.after(i)); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 2 {
					f.start(t, fmt.Sprint("w", i), &worker.Options{Threads: 64, Grace: -1}).mayCut = true
				}
				<-time.After(time.Minute)
				if n := f.claims.Load(); n > c.most {
					t.Errorf("%d claims in a minute, want %d at most", n, c.most)
				}
			})
		})
	}
}

func TestAStoreThatIsAwayIsAskedWithPausesAndRunningThreadsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(20*time.Second))
		f.enqueue(t, "t")
		p := f.start(t, "w", &worker.Options{Turn: 10 * time.Second})
		<-time.After(11 * time.Second)
		p.store.dead.Store(true)
		before := f.claims.Load()
		<-time.After(6 * time.Second) // shorter than a lease lasts
		p.store.dead.Store(false)
		if n := f.claims.Load() - before; n > 8 {
			t.Errorf("%d claims in 6 s", n)
		}
		await(t, 10*time.Second, "completed", func() bool { return f.status(t, "t") == state.StatusCompleted })
		if f.ran.of("t") != 1 {
			t.Errorf("run %d times", f.ran.of("t"))
		}
		f.enqueue(t, "next")
		await(t, 40*time.Second, "the next completed too", func() bool { return f.status(t, "next") == state.StatusCompleted })
	})
}
