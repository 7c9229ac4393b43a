package router

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"junction/health"
	"junction/state"
)

// Router makes hops. It is safe for concurrent use. Close it when done.
type Router struct {
	discovery  Discovery
	caller     Caller
	options    Options
	seed       uint64
	termPlaces []termPlace // of the score
	host       string      // names the ledgers of stdio servers

	health  *health.Tracker
	roster  *roster
	budget  *budget
	fleet   *fleet     // nil: no others are known
	rates   *ratesLoop // nil: those that were seen here count
	probes  *prober
	schemas schemas
	pools   pools
	bonds   recent[bond, state.Session] // which session a thread stays with
	uses    uses                        // sessions that are part of a thread's state
	freed   broadcast                   // a place at a server came free
	drawn   atomic.Uint64               // decisions made outside of a hop
	noticed atomic.Uint64               // version of the snapshot that the tracker and the roster know
}

// New returns a router over the servers that d finds and c speaks to. A nil o
// means the defaults.
func New(d Discovery, c Caller, o *Options) *Router {
	options := o.withDefaults()
	r := &Router{
		discovery: d, caller: c, options: options, seed: options.Seed, termPlaces: termPlaces(options.Score),
		health: health.NewTracker(),
		roster: newRoster(c, options),
		budget: newBudget(options.RetryShare, options.RetryFloor),
		freed:  broadcast{changed: make(chan struct{})},
		uses:   newUses(),
	}
	if r.seed == 0 {
		r.seed = randomSeed()
	}
	// Without a host name, ledgers of stdio servers are told apart by the name
	// of the server alone, which is still right on one machine.
	r.host, _ = os.Hostname()
	r.fleet = joinFleet(options.Fleet, r.health, r.freed.send, options.Log, r.seed)
	r.rates = askRates(options.Rates, r.health, options.Log, r.seed)
	r.probes = newProber(r)
	return r
}

// Close ends the handshakes and probes under way and waits for them, and leaves the
// fleet. It does not touch connections: those are the caller's.
func (r *Router) Close() {
	r.probes.close()
	r.fleet.close()
	r.rates.close()
	r.roster.close()
}

// Do makes one hop: it decides, calls, and goes elsewhere as the code and the
// effect allow, all of it recorded in the journal that ctx carries. A hop that
// has a recorded result returns it and sends nothing. Errors are
// *NoCandidateError, *AttemptsError, *RejectedError, *BudgetError,
// *DeadlineError, *ContractError, *UnknownOutcomeError, errors of the journal
// and of the store, and whatever the journal's question returns to pause the
// thread.
func (r *Router) Do(ctx context.Context, c state.Call) (state.Answer, error) {
	h, err := r.begin(ctx, c)
	if err != nil {
		return state.Answer{}, err
	}
	defer h.journaled.Close()
	if rec, ok := h.journaled.Replay(); ok {
		return replayed(&c, rec)
	}
	if c.RouteOnly {
		return h.routeOnly(ctx)
	}
	return h.run(ctx)
}

// Route decides and neither calls nor records. Without a candidate it returns
// the decision, which says why, and a *NoCandidateError.
func (r *Router) Route(ctx context.Context, c state.Call) (Decision, error) {
	h := &hop{r: r, call: c, what: whatOf(&c), asking: r.pools.asking(&c), seedBase: mix(r.seed + r.drawn.Add(1)), deciding: true}
	h.idle, h.max = clocksOf(c.Idle, c.Max, r.options.Idle, r.options.Max)
	with, err := argumentsOf(c.With)
	if err != nil {
		return Decision{}, err
	}
	h.with = with
	chosen, err := h.choose(ctx)
	if err != nil {
		return h.decision, err
	}
	return chosen.decision, nil
}

// noticeChange forgets servers that have left, and has the caller end what it
// keeps of them. Of two hops with different snapshots the newer one counts.
func (r *Router) noticeChange(s *Snapshot) {
	for {
		known := r.noticed.Load()
		if s.Version <= known {
			return
		}
		if r.noticed.CompareAndSwap(known, s.Version) {
			break
		}
	}
	here := func(id string) bool {
		_, found := slices.BinarySearchFunc(s.Servers, id, func(s *Server, id string) int {
			switch {
			case s.ID < id:
				return -1
			case s.ID > id:
				return 1
			}
			return 0
		})
		return found
	}
	r.health.Keep(here)
	left := r.roster.keep(here)
	if f, ok := r.caller.(Forgetter); ok {
		for _, id := range left {
			f.Forget(id)
		}
	}
}

// ledgerOf names the ledger that an offer's keys are known to.
func (r *Router) ledgerOf(e *entry) string {
	switch {
	case e.offer.Ledger.Name != "":
		return e.offer.Ledger.Name
	case e.server.Dial.URL != "" && e.server.Source != "consul":
		return e.server.Endpoint()
	case e.server.Dial.URL != "":
		// Whoever registers chooses the id, which must not become the name of a
		// ledger that the operator knows.
		return "consul " + e.server.ID + " at " + e.server.Endpoint()
	}
	return r.host + "/" + e.server.ID
}

// keepsOf is how long that ledger keeps keys.
func keepsOf(o *Offer) time.Duration {
	if o.Ledger.Keeps > 0 {
		return o.Ledger.Keeps
	}
	return 24 * time.Hour
}

func randomSeed() uint64 {
	var b [8]byte
	if _, err := crand.Read(b[:]); err != nil {
		panic(fmt.Sprintf("no randomness for the router's seed: %v", err)) // documented never to happen
	}
	return binary.LittleEndian.Uint64(b[:])
}

// hashOf is FNV-1a.
func hashOf(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return h
}

// broadcast wakes everybody who waits.
type broadcast struct {
	mu      sync.Mutex
	waiters int
	changed chan struct{}
}

// wait returns a channel that is closed at the next send.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters++
	return b.changed
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters == 0 {
		return
	}
	b.waiters = 0
	close(b.changed)
	b.changed = make(chan struct{})
}
