package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

// dying is the store as a process sees it that dies at its nth operation:
// before it took effect, or after it, when the answer never arrives.
type dying struct {
	state.Store
	mu     sync.Mutex
	left   int
	before bool
	dead   bool
}

// op lets an operation through, or not, and says whether its answer arrives.
func (d *dying) op(f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return state.ErrLeaseLost
	}
	d.left--
	d.dead = d.left == 0
	if d.dead && d.before {
		return state.ErrLeaseLost
	}
	err := f()
	if d.dead {
		return state.ErrLeaseLost
	}
	return err
}

func (d *dying) CreateThread(ctx context.Context, n state.NewThread) (t state.Thread, err error) {
	err = d.op(func() (err error) { t, err = d.Store.CreateThread(ctx, n); return err })
	return t, err
}

func (d *dying) Acquire(ctx context.Context, thread, owner string, ttl time.Duration) (l state.Lease, err error) {
	err = d.op(func() (err error) { l, err = d.Store.Acquire(ctx, thread, owner, ttl); return err })
	return l, err
}

func (d *dying) Release(ctx context.Context, l state.Lease) error {
	return d.op(func() error { return d.Store.Release(ctx, l) })
}

func (d *dying) SetStatus(ctx context.Context, l state.Lease, s state.Status, f *state.Failure, r []state.Record) error {
	return d.op(func() error { return d.Store.SetStatus(ctx, l, s, f, r) })
}

func (d *dying) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, r []state.Record) error {
	return d.op(func() error { return d.Store.PutWrites(ctx, l, seq, w, r) })
}

func (d *dying) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, r []state.Record) error {
	return d.op(func() error { return d.Store.PutInterrupt(ctx, l, seq, i, r) })
}

func (d *dying) PutRecords(ctx context.Context, l state.Lease, r []state.Record) error {
	return d.op(func() error { return d.Store.PutRecords(ctx, l, r) })
}

func (d *dying) Commit(ctx context.Context, c state.Commit) (cp state.Checkpoint, err error) {
	err = d.op(func() (err error) { cp, err = d.Store.Commit(ctx, c); return err })
	return cp, err
}

// world counts what a graph with hops does outside of itself.
type world struct {
	mu      sync.Mutex
	effects map[string]int // by idempotency key
}

// charge is a conditional hop: its intent is durable before, its outcome after.
func (w *world) charge(ctx context.Context, what string) error {
	h, err := state.JournalFrom(ctx).Begin("", state.Hash([]byte(what)))
	if err != nil {
		return err
	}
	defer h.Close()
	if _, ok := h.Replay(); ok {
		return nil
	}
	rec := state.Record{Attempt: len(h.Prior()) + 1, Effect: state.Conditional, Key: h.Key()}
	if err := h.Intent(ctx, rec); err != nil {
		return err
	}
	w.mu.Lock()
	w.effects[h.Key()] = 1 // the server's ledger: a repeated key has no second effect
	w.mu.Unlock()
	rec.Status, rec.Final, rec.Result = state.CallSuccess, true, json.RawMessage(`true`)
	return h.Outcome(ctx, rec, true)
}

func crashGraph(t *testing.T, w *world, runs *counter) *graph.Graph {
	return compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "log", Append: true}, {Name: "sum", Reduce: graph.ReduceSum}, {Name: "ok"}},
		Nodes: []graph.Node{
			{Name: "list", Run: nothing},
			{Name: "each", Each: func(graph.View) ([]any, error) { return []any{"x", "y", "z"}, nil },
				Run: func(ctx context.Context, in graph.Input) (graph.Update, error) {
					runs.add(in.Task.ID)
					if err := w.charge(ctx, in.Item.(string)); err != nil {
						return graph.Update{}, err
					}
					return graph.Update{Writes: []graph.Write{
						{Channel: "log", Value: []any{in.Item}}, {Channel: "sum", Value: in.Task.Index},
					}}, nil
				}},
			{Name: "gate", Run: do("ok", func(ctx context.Context, _ graph.Input) (any, error) {
				if err := w.charge(ctx, "before the question"); err != nil {
					return nil, err
				}
				return graph.Ask(ctx, "ok?")
			})},
		},
		Edges: edges(line("start", "list", "each", "gate", "end")),
	})
}

// finish resumes a thread until it is completed, answering what it asks.
func finish(t *testing.T, g *graph.Graph, store state.Store, thread string) graph.Result {
	o := graph.RunOptions{Store: store, WaitBusy: func(time.Duration) {}}
	res := resume(t, g, thread, o)
	if res.Status == state.StatusInterrupted {
		o.Answers = map[string]json.RawMessage{"": json.RawMessage(`true`)}
		res = resume(t, g, thread, o)
	}
	return res
}

func TestADeathAtAnyStoreOperationLosesAndRepeatsNothing(t *testing.T) {
	want := map[string]any{"log": []any{"x", "y", "z"}, "sum": int64(3), "ok": true}
	for _, before := range []bool{true, false} {
		for n := 1; ; n++ {
			died := false
			synctest.Test(t, func(t *testing.T) {
				w, runs, store := &world{effects: map[string]int{}}, &counter{}, newStore(t)
				g := crashGraph(t, w, runs)
				d := &dying{Store: store, left: n, before: before}
				_, err := g.Run(t.Context(), graph.RunOptions{Store: d, Thread: "t", Check: true})
				if died = d.dead; !died {
					return
				}
				if _, err := store.Thread(t.Context(), "t"); err != nil {
					if n == 1 && before {
						return // the thread was never made, and nothing was done
					}
					t.Fatal(err)
				}
				res := finish(t, g, store, "t")
				if res.Status != state.StatusCompleted {
					t.Fatalf("death %d (before: %v): %s, %v, after %v", n, before, res.Status, res.Err, err)
				}
				if diff := cmp.Diff(want, res.State); diff != "" {
					t.Fatalf("death %d (before: %v): %s", n, before, diff)
				}
				if len(w.effects) != 4 {
					t.Fatalf("death %d (before: %v): %d effects under different keys, want 4", n, before, len(w.effects))
				}
			})
			if !died {
				if n < 12 {
					t.Fatalf("only %d operations", n)
				}
				break
			}
		}
	}
}

func TestASuperstepWhoseTasksAllHaveWritesIsCommittedWithoutRunningAny(t *testing.T) {
	store := newStore(t)
	var runs counter
	count := func(name string) graph.Func {
		return do(name, func(context.Context, graph.Input) (any, error) { return runs.add(name), nil })
	}
	g := compile(t, pair(graph.Node{Run: count("a")}, graph.Node{Run: count("b")}))
	res, err := g.Run(t.Context(), graph.RunOptions{Store: &failing{Store: store, commit: func(state.Commit) error {
		return fmt.Errorf("%w: the process is dead", state.ErrConflict)
	}}})
	if err == nil {
		t.Fatal("no error")
	}
	snap, err := store.Load(t.Context(), res.Thread, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Acquire(t.Context(), res.Thread, "test", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range snap.Next {
		w := state.TaskWrites{Task: task.ID, Writes: []state.Write{{Channel: task.Node, Value: json.RawMessage(`"stored"`)}}}
		if err := store.PutWrites(t.Context(), l, snap.Seq, w, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if n := runs.of("a") + runs.of("b"); n != 2 {
		t.Fatalf("%d runs", n)
	}
}
