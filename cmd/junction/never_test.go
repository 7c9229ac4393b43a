package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// callMax is the maximum time of a call: what was sent takes effect by then or
// never.
const callMax = 20 * time.Second

// world is every server there is. What takes effect is known by the name of the
// order that the call carries.
type world struct {
	mu       sync.Mutex
	rand     *rand.Rand
	trouble  float64           // share of calls that go wrong
	done     map[string]int    // effects by order
	receipts map[string]int64  // by order: of its newest effect
	ledgers  map[string]string // by ledger and key: the order
	next     int64
	late     sync.WaitGroup
}

func (w *world) Snapshot() *router.Snapshot {
	s := &router.Snapshot{Version: 1, Contracts: map[string]router.Contract{}}
	for _, o := range []struct {
		id, capability, ledger string
		effect                 state.Effect
	}{
		{"book-a", "book", "shared", state.Conditional}, {"book-b", "book", "shared", state.Conditional}, {"book-c", "book", "apart", state.Conditional},
		{"look-a", "look", "", state.Safe}, {"look-b", "look", "", state.Safe},
		{"pay-a", "pay", "", state.Unsafe}, {"pay-b", "pay", "", state.Unsafe},
	} {
		offer := router.Offer{Capability: o.capability, Tool: "do", Effect: o.effect, Ledger: router.Ledger{Name: o.ledger, Keeps: 10 * time.Minute}}
		if o.effect == state.Conditional {
			offer.Key = "key"
		}
		s.Servers = append(s.Servers, &router.Server{ID: o.id, Name: o.id, Dial: router.Dial{URL: "http://" + o.id}, Source: "file", Offers: []router.Offer{offer}})
	}
	return s
}

func (*world) Refresh(context.Context) error { return nil }

func (*world) Describe(context.Context, *router.Server) (*router.Description, error) {
	return &router.Description{Tools: []router.Tool{{Name: "do"}}}, nil
}

// work lets a call take effect and returns its receipt. A ledger does nothing
// the second time it sees a key.
func (w *world) work(s *router.Server, c router.ToolCall) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	order := c.Arguments["order"].(string)
	offer := s.Offers[0]
	if offer.Effect == state.Conditional {
		key := offer.Ledger.Name + "/" + c.Arguments["key"].(string)
		if w.ledgers[key] != "" {
			return w.receipts[order]
		}
		w.ledgers[key] = order
	}
	if offer.Effect != state.Safe {
		w.done[order]++
	}
	w.next++
	w.receipts[order] = w.next + 1<<53 // an integer that a float64 would lose
	return w.receipts[order]
}

func (w *world) draw(n int) (roll float64, pick int, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.Float64(), w.rand.IntN(n), time.Duration(w.rand.Int64N(int64(callMax / 2)))
}

func (w *world) Call(ctx context.Context, s *router.Server, c router.ToolCall) (*router.ToolResult, error) {
	roll, pick, d := w.draw(6)
	answer := func() (*router.ToolResult, error) {
		return &router.ToolResult{Structured: map[string]any{"receipt": w.work(s, c)}}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, &router.CallError{Code: router.Cancelled, Execution: state.NotExecuted, Message: "not sent", Err: err}
	}
	reset := &router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "reset"}
	if roll >= w.trouble {
		return answer()
	}
	switch pick {
	case 0:
		return nil, &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "refused"}
	case 1: // dropped before it took effect
		return nil, reset
	case 2: // dropped after
		w.work(s, c)
		return nil, reset
	case 3: // and takes effect yet
		w.late.Go(func() {
			<-time.After(d)
			w.work(s, c)
		})
		return nil, reset
	case 4: // slow, and perhaps cut
		select {
		case <-time.After(d):
			return answer()
		case <-ctx.Done():
			w.late.Go(func() {
				<-time.After(d)
				w.work(s, c)
			})
			return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown, Message: "cut", Err: ctx.Err()}
		}
	}
	return nil, &router.CallError{Code: router.ServerOverload, RetryAfter: time.Second, Message: "busy"}
}

// mortal is a store as a process sees it that dies at one of its operations.
type mortal struct {
	state.Store
	mu     sync.Mutex
	left   int // operations until then
	before bool
	dead   bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) op(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := errors.Join(errDead, state.ErrLeaseLost)
	if m.dead {
		return dead
	}
	m.left--
	m.dead = m.left == 0
	if m.dead && m.before {
		return dead
	}
	if err := f(); err != nil {
		return err
	}
	if m.dead {
		return dead
	}
	return nil
}

func (m *mortal) SetStatus(ctx context.Context, l state.Lease, s state.Status, f *state.Failure, r []state.Record) error {
	return m.op(func() error { return m.Store.SetStatus(ctx, l, s, f, r) })
}

func (m *mortal) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, r []state.Record) error {
	return m.op(func() error { return m.Store.PutWrites(ctx, l, seq, w, r) })
}

func (m *mortal) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, r []state.Record) error {
	return m.op(func() error { return m.Store.PutInterrupt(ctx, l, seq, i, r) })
}

func (m *mortal) PutRecords(ctx context.Context, l state.Lease, r []state.Record) error {
	return m.op(func() error { return m.Store.PutRecords(ctx, l, r) })
}

func (m *mortal) Commit(ctx context.Context, c state.Commit) (cp state.Checkpoint, err error) {
	err = m.op(func() (err error) { cp, err = m.Store.Commit(ctx, c); return err })
	return cp, err
}

func (m *mortal) Release(ctx context.Context, l state.Lease) error {
	m.mu.Lock()
	dead := m.dead
	m.mu.Unlock()
	if dead {
		return errDead
	}
	return m.Store.Release(ctx, l)
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

// look is the person: they look at the world, and wait where they cannot know.
func (w *world) look(i state.Interrupt) json.RawMessage {
	var q struct {
		Arguments struct{ Order string }
		Question  string
	}
	if err := json.Unmarshal(i.Value, &q); err != nil {
		return nil
	}
	if q.Arguments.Order == "" {
		return json.RawMessage(`true`)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done[q.Arguments.Order] > 0 {
		return json.RawMessage(fmt.Sprintf(`{"choice": "happened", "result": {"receipt": %d}}`, w.receipts[q.Arguments.Order]))
	}
	if strings.Contains(string(i.Schema), `"again"`) {
		return json.RawMessage(`{"choice": "again"}`)
	}
	return nil
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

// settle holds what the thread remembers against what the world did.
func (w *world) settle(t *testing.T, seed uint64, log []json.RawMessage, trail []string) {
	var seen []string
	for _, raw := range log {
		var e struct {
			Order   string
			Receipt *int64
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e.Order)
		want := 1
		if e.Receipt == nil {
			want = 0
		} else if *e.Receipt != w.receipts[e.Order] {
			t.Errorf("seed %d: order %s has receipt %d, the world says %d", seed, e.Order, *e.Receipt, w.receipts[e.Order])
		}
		if n := w.done[e.Order]; n != want {
			t.Errorf("seed %d: order %s took effect %d times, want %d", seed, e.Order, n, want)
		}
	}
	slices.Sort(seen)
	want := []string{"book-1", "book-2", "book-3", "book-4", "pay-1", "pay-2", "pay-3", "pay-4", "pay-6"}
	if w.done["pay-4"] == 0 {
		want = slices.Insert(want, len(want)-1, "pay-5")
	} else if w.done["pay-5"] > 0 {
		t.Errorf("seed %d: the handler paid for what was paid", seed)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seed %d: the thread knows the orders %v, want %v", seed, seen, want)
	}
	if t.Failed() {
		t.Logf("seed %d: lives %v", seed, trail)
	}
}
