package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/router"
	"junction/state"
	"junction/state/memory"
)

// TestNeverTwiceNeverLost joins graph, router and store over a world that does
// its worst: calls are refused, dropped before or after they took effect, or take
// effect late; the store dies at any operation, before or after it was done; a
// person answers what is asked by looking at the world. Whatever happens, each
// call takes effect once, and the thread ends with what the world really did.
func TestNeverTwiceNeverLost(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		if t.Failed() {
			return // one misfortune is enough to look at
		}
		synctest.Test(t, func(t *testing.T) { misfortune(t, seed) })
	}
}

// orders is a graph of hops of each effect: one after another, in a fan-out,
// under a node's timeout, and before a handler that says what failed.
func orders(r *router.Router) (*graph.Graph, error) {
	hop := func(ctx context.Context, order, name string) (any, error) {
		capability, _, _ := strings.Cut(order, "-")
		a, err := r.Do(ctx, state.Call{Capability: capability, With: map[string]any{"order": order}, Max: callMax, Attempts: 4, Name: name})
		if err != nil {
			return nil, err
		}
		return map[string]any{"order": order, "receipt": a.Value.(map[string]any)["receipt"]}, nil
	}
	log := func(entries ...any) graph.Update {
		return graph.Update{Writes: []graph.Write{{Channel: "log", Value: entries}}}
	}
	return graph.Compile(graph.Spec{
		Name:     "orders",
		Channels: []graph.Channel{{Name: "log", Append: true}},
		Nodes: []graph.Node{
			{Name: "first", Retry: &graph.Retry{Attempts: 3}, Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
				var all []any
				for _, order := range []string{"look-1", "book-1", "look-2", "pay-1"} {
					v, err := hop(ctx, order, "")
					if err != nil {
						return graph.Update{}, err
					}
					if !strings.HasPrefix(order, "look") {
						all = append(all, v)
					}
				}
				_, err := graph.Ask(ctx, map[string]any{"question": "Go on?"})
				return log(all...), err
			}},
			{Name: "both", Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
				var all [2]any
				var errs [2]error
				var wait sync.WaitGroup
				for i, order := range []string{"book-4", "pay-6"} {
					wait.Go(func() { all[i], errs[i] = hop(ctx, order, order) })
				}
				wait.Wait()
				return log(all[:]...), errors.Join(errs[:]...)
			}},
			{
				Name: "each", Each: func(graph.View) ([]any, error) { return []any{"book-2", "pay-2", "book-3", "pay-3"}, nil },
				Run: func(ctx context.Context, in graph.Input) (graph.Update, error) {
					v, err := hop(ctx, in.Item.(string), "")
					if err != nil {
						return graph.Update{}, err
					}
					return log(v), nil
				},
			},
			{
				Name: "last", Timeout: callMax / 4, Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					v, err := hop(ctx, "pay-4", "")
					if err != nil {
						return graph.Update{}, err
					}
					return log(v), nil
				},
				OnError: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					v, err := hop(ctx, "pay-5", "")
					return log(map[string]any{"order": "pay-4", "receipt": nil}, v), err // nothing was paid first
				},
			},
		},
		Edges: []graph.Edge{
			{From: []string{graph.Start}, To: "first"}, {From: []string{"first"}, To: "both"}, {From: []string{"both"}, To: "each"}, {From: []string{"each"}, To: "last"}, {From: []string{"last"}, To: graph.End},
		},
	})
}

// after does f after d, unless it is stopped before.
func after(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// misfortune runs a thread to its end through deaths, failures and questions.
func misfortune(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 2)), trouble: []float64{0.2, 0.5, 0.8}[seed%3],
		done: map[string]int{}, receipts: map[string]int64{}, ledgers: map[string]string{},
	}
	store := memory.New(nil)
	var trail []string
	var res graph.Result
	for life := 0; res.Status != state.StatusCompleted; life++ {
		if life == 200 {
			t.Fatalf("seed %d: no end after %v", seed, trail)
		}
		if life > 60 {
			w.mu.Lock()
			w.trouble = 0 // a fair world at last
			w.mu.Unlock()
		}
		m := &mortal{Store: store, before: random.IntN(2) == 0}
		if life < 30 && random.IntN(3) > 0 {
			m.left = 1 + random.IntN(12)
		}
		answers := map[string]json.RawMessage{}
		for _, i := range res.Interrupts {
			if a := w.look(i); a != nil {
				answers[i.ID] = a
			}
		}
		r := router.New(w, w, &router.Options{Seed: seed*1000 + uint64(life) + 1})
		g, err := orders(r)
		if err != nil {
			t.Fatal(err)
		}
		o := graph.RunOptions{Store: m, Thread: "t", WaitBusy: func(time.Duration) {}, Check: true}
		stop := func() {}
		switch soon := time.Duration(random.Int64N(int64(callMax))); random.IntN(6) {
		case 0:
			drain := make(chan struct{})
			stop, o.Drain = after(soon, func() { close(drain) }), drain
		case 1:
			stop = after(soon, func() {
				if err := store.RequestCancel(t.Context(), "t"); err != nil {
					t.Error(err)
				}
			})
		}
		if life == 0 {
			res, err = g.Run(t.Context(), o)
		} else {
			o.Answers = answers
			res, err = g.Resume(t.Context(), "t", o)
		}
		stop()
		r.Close()
		switch {
		case err != nil && !errors.Is(err, errDead) && !errors.Is(err, state.ErrLeaseLost) && !errors.Is(err, state.ErrBusy):
			t.Fatalf("seed %d: %v after %v", seed, err, trail)
		case err != nil:
			trail = append(trail, "died") // or gave up waiting for the lease of one that did
			if snap, err := store.Load(t.Context(), "t", 0); err == nil {
				res = graph.Result{} // what waits is what the store says
				for _, i := range snap.Interrupts {
					if i.Answer == nil {
						res.Interrupts = append(res.Interrupts, i)
					}
				}
			}
			if th, err := store.Thread(t.Context(), "t"); err == nil && th.Status == state.StatusCompleted {
				res.Status = state.StatusCompleted
			}
		default:
			trail = append(trail, string(res.Status))
		}
		<-time.After(time.Duration(random.Int64N(int64(callMax)))) // the person comes back later
	}
	w.late.Wait()
	snap, err := store.Load(t.Context(), "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	w.settle(t, seed, snap.Logs["log"], trail)
}
