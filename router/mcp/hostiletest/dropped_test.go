package hostiletest_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"junction/graph"
	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
	"junction/state"
	"junction/state/memory"
)

// drops are the ways in which an answer is lost after the tool took effect.
func drops(w way) []hostiletest.Fault {
	all := []hostiletest.Fault{hostiletest.Dropped, hostiletest.Killed, hostiletest.HalfThenEnd, hostiletest.Silent}
	if w.http {
		return append(all, hostiletest.BadGateway, hostiletest.Unavailable, hostiletest.EndsWithoutAnswer)
	}
	return append(all, hostiletest.ClosesOutput)
}

// known is a discovery of servers that never change.
type known []*router.Server

func (k known) Snapshot() *router.Snapshot {
	return &router.Snapshot{Version: 1, Contracts: map[string]router.Contract{}, Servers: k}
}

func (known) Refresh(context.Context) error { return nil }

// shop is a graph of one hop over real servers, on a store of its own.
type shop struct {
	world *hostiletest.World
	store state.Store
	graph *graph.Graph
	max   time.Duration // of an attempt
}

// maxima of an attempt: where an answer is lost at once, and where nothing but the
// clock can tell.
const (
	longMax  = time.Minute
	shortMax = 2500 * time.Millisecond
)

// offer is how every server of a shop offers the work.
type offer struct {
	effect state.Effect
	ledger string // shared by all; "": each its own
	verify bool
	max    time.Duration // 0: long
}

// newShop has the servers, the first of which is picked first.
func newShop(t *testing.T, w way, o offer, servers ...*hostiletest.Server) *shop {
	t.Helper()
	s := &shop{world: hostiletest.NewWorld(t), store: memory.New(nil), max: longMax}
	if o.max > 0 {
		s.max = o.max
	}
	var all known
	for i, h := range servers {
		if h.Fault == hostiletest.Silent {
			s.max = shortMax
		}
		h.World, h.Ledger = s.world.URL, o.ledger
		all = append(all, offered(w.start(t, h), o, i == 0))
	}
	s.open(t, all)
	return s
}

func offered(s *router.Server, o offer, first bool) *router.Server {
	as := router.Offer{Capability: "work", Tool: "work", Effect: o.effect, Ledger: router.Ledger{Name: o.ledger}}
	if o.effect == state.Conditional {
		as.Key = "key"
	}
	if o.verify {
		as.Verify = &router.Verify{Tool: "verify"}
	}
	s.Offers = []router.Offer{as}
	if first {
		s.Weight = 1e9
	}
	return s
}

// open joins servers, client, router and graph.
func (s *shop) open(t *testing.T, servers known) {
	t.Helper()
	c := newClient(t, mcp.Options{Backoff: mcp.Backoff{Base: 5 * time.Millisecond, Cap: 20 * time.Millisecond}})
	for _, server := range servers { // starting them is no part of the clocks
		if _, err := c.Describe(t.Context(), server); err != nil && server.Dial.URL != "" {
			t.Fatal(err)
		}
	}
	r := router.New(servers, c, &router.Options{Seed: 1, Max: s.max})
	t.Cleanup(r.Close)
	g, err := graph.Compile(graph.Spec{
		Name: "shop", Channels: []graph.Channel{{Name: "receipt"}},
		Nodes: []graph.Node{{Name: "work", Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			a, err := r.Do(ctx, state.Call{Capability: "work", With: map[string]any{"order": "o-1"}})
			return graph.Update{Writes: []graph.Write{{Channel: "receipt", Value: a.Value}}}, err
		}}},
		Edges: []graph.Edge{{From: []string{graph.Start}, To: "work"}, {From: []string{"work"}, To: graph.End}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.graph = g
}

func (s *shop) run(t *testing.T) graph.Result {
	t.Helper()
	res, err := s.graph.Run(t.Context(), graph.RunOptions{Store: s.store, Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (s *shop) answer(t *testing.T, i state.Interrupt, answer string) graph.Result {
	t.Helper()
	return s.resume(t, map[string]json.RawMessage{i.ID: json.RawMessage(answer)})
}

func (s *shop) resume(t *testing.T, answers map[string]json.RawMessage) graph.Result {
	t.Helper()
	res, err := s.graph.Resume(t.Context(), "t", graph.RunOptions{Store: s.store, Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// done holds the run's end against the world: who answered, with the receipt of
// the only effect.
func (s *shop) done(t *testing.T, res graph.Result, by string) {
	t.Helper()
	if res.Status != state.StatusCompleted {
		t.Fatalf("the thread is %s: %v", res.Status, res.Err)
	}
	got, _ := res.State["receipt"].(map[string]any)
	if got["by"] != by || got["receipt"] != int64(1) {
		t.Errorf("the thread knows %v, want receipt 1 by %s", got, by)
	}
	s.effects(t, 1)
}

func (s *shop) effects(t *testing.T, want int) {
	t.Helper()
	if n := s.world.Effects(); n != want {
		t.Errorf("it took effect %d times, want %d", n, want)
	}
}

func (s *shop) calls(t *testing.T, server string, want int) {
	t.Helper()
	if n := s.world.Calls(server); n != want {
		t.Errorf("%s was called %d times, want %d", server, n, want)
	}
}

// eachDrop runs test for every way of losing an answer, over every transport.
func eachDrop(t *testing.T, test func(t *testing.T, w way, f hostiletest.Fault)) {
	for _, w := range ways {
		for _, f := range drops(w) {
			t.Run(string(f)+", "+w.name, func(t *testing.T) {
				t.Parallel()
				test(t, w, f)
			})
		}
	}
}

func TestASafeCallDroppedAfterTheToolRanIsAnsweredByAnotherServer(t *testing.T) {
	t.Parallel()
	eachDrop(t, func(t *testing.T, w way, f hostiletest.Fault) {
		s := newShop(t, w, offer{effect: state.Safe}, &hostiletest.Server{ID: "first", Fault: f}, &hostiletest.Server{ID: "second"})
		res := s.run(t)
		if got, _ := res.State["receipt"].(map[string]any); res.Status != state.StatusCompleted || got["by"] != "second" {
			t.Errorf("%s, %v: %v", res.Status, res.State, res.Err)
		}
		s.calls(t, "first", 1)
		s.calls(t, "second", 1)
	})
}

func TestAConditionalCallDroppedAfterTheToolRanGoesOnWhereItsLedgerIs(t *testing.T) {
	t.Parallel()
	eachDrop(t, func(t *testing.T, w way, f hostiletest.Fault) {
		s := newShop(t, w, offer{effect: state.Conditional},
			&hostiletest.Server{ID: "first", Fault: f, Times: 1}, &hostiletest.Server{ID: "second"})
		s.done(t, s.run(t), "first")
		s.calls(t, "first", 2)
		s.calls(t, "second", 0)
	})
}

func TestAConditionalCallWhoseLedgerKeepsLosingTheAnswerIsNeverMadeElsewhere(t *testing.T) {
	t.Parallel()
	eachDrop(t, func(t *testing.T, w way, f hostiletest.Fault) {
		s := newShop(t, w, offer{effect: state.Conditional},
			&hostiletest.Server{ID: "first", Fault: f}, &hostiletest.Server{ID: "second"})
		if res := s.run(t); res.Status == state.StatusCompleted {
			t.Errorf("it completed with %v", res.State)
		}
		s.effects(t, 1)
		s.calls(t, "second", 0)
	})
}

func TestAConditionalCallDroppedAfterTheToolRanIsAnsweredByAServerThatSharesTheLedger(t *testing.T) {
	t.Parallel()
	eachDrop(t, func(t *testing.T, w way, f hostiletest.Fault) {
		s := newShop(t, w, offer{effect: state.Conditional, ledger: "billing"},
			&hostiletest.Server{ID: "first", Fault: f}, &hostiletest.Server{ID: "second"})
		s.done(t, s.run(t), "second")
		s.calls(t, "first", 1)
		s.calls(t, "second", 1)
	})
}

func TestAnUnsafeCallDroppedAfterTheToolRanPausesTheThreadWithTheEvidence(t *testing.T) {
	t.Parallel()
	eachDrop(t, func(t *testing.T, w way, f hostiletest.Fault) {
		s := newShop(t, w, offer{effect: state.Unsafe}, &hostiletest.Server{ID: "first", Fault: f}, &hostiletest.Server{ID: "second"})
		res := s.run(t)
		if res.Status != state.StatusInterrupted || len(res.Interrupts) != 1 {
			t.Fatalf("the thread is %s with %d questions: %v", res.Status, len(res.Interrupts), res.Err)
		}
		var evidence struct {
			Server, Tool, Effect, Code, Message, Started, Hop, Question string
			Arguments                                                   map[string]any
		}
		if err := json.Unmarshal(res.Interrupts[0].Value, &evidence); err != nil {
			t.Fatal(err)
		}
		if evidence.Server != "first" || evidence.Tool != "work" || evidence.Effect != "unsafe" || evidence.Arguments["order"] != "o-1" ||
			evidence.Message == "" || evidence.Started == "" || evidence.Hop == "" || evidence.Question == "" ||
			!slices.Contains(codes, router.Code(evidence.Code)) {
			t.Errorf("the evidence is %s", res.Interrupts[0].Value)
		}
		s.effects(t, 1)
		s.calls(t, "first", 1)
		s.calls(t, "second", 0)
		s.done(t, s.answer(t, res.Interrupts[0], `{"choice":"happened","result":{"receipt":1,"by":"first"}}`), "first")
		s.calls(t, "first", 1)
		s.calls(t, "second", 0)
	})
}
