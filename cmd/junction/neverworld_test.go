package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

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
