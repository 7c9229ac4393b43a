package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"junction/state"
	"junction/state/value"
)

// hop is one hop under way: what was asked, what was tried, what is still open.
type hop struct {
	r        *Router
	call     state.Call
	what     string // for people: the capability, or the tool
	asking   asking // what the call asks of a server
	with     any    // the arguments, canonical
	seedBase uint64
	draws    uint64
	deciding bool // a decision alone: no place is taken, nothing is sent

	journal   *state.Journal
	journaled *state.Hop
	alone     bool // no journal came with the call: nobody can be asked
	idle, max time.Duration
	limit     int // attempts of this run

	last     int // number of the last attempt of the round
	made     int // attempts of this run that count
	attempts []*AttemptError
	record   *state.Record // of the last attempt
	decision Decision      // the last one made
	rejected []Rejection   // of that decision, where its record only counts them too

	tried   map[string]bool      // servers
	barred  map[string]string    // servers not to be used again in this hop → why
	unfit   map[string]unfitness // server and tool whose schema or mapping refuses the arguments
	renewed map[string]bool      // servers whose session was renewed for this hop
	bound   state.Session        // that the hop must use; its Server "": any
	only    string               // the server the next attempt must be made at; "": any

	lock   lock
	open   bool          // an attempt of this run may have executed, and is not safe
	busy   int           // answers in a row that a ledger still works on the key
	paused bool          // the back-off before the same server is over
	queued time.Duration // waited for a place; counts against the attempt's maximum
	stuck  time.Duration // of it, since a call last ended at one of the servers
	rested time.Duration // waited for anything, requests apart
	ended  uint64        // calls that had ended there by then

	input  *InputAnswers     // to what the server asked in an earlier round; nil: nothing was asked
	kin    string            // service whose instances may go on with these answers; "": any
	asked  []state.Record    // attempts of this round whose questions were answered
	inputs int               // questions that servers put in a row in this round
	task   *state.RemoteTask // that the answers are for; nil: the call is made again with them

	refreshed  bool
	redialled  bool // a server was waited for to be connected again
	refreshErr error
	checked    bool // the arguments keep the contract
}

// begin opens the hop in the journal, in one that remembers nothing where the
// call comes without.
func (r *Router) begin(ctx context.Context, c state.Call) (*hop, error) {
	with, err := argumentsOf(c.With)
	if err != nil {
		return nil, err
	}
	h := &hop{
		r: r, call: c, what: whatOf(&c), asking: r.pools.asking(&c), with: with, limit: c.Attempts,
		tried: map[string]bool{}, barred: map[string]string{}, renewed: map[string]bool{},
	}
	h.deciding = c.RouteOnly
	if h.limit <= 0 {
		h.limit = r.options.Attempts
	}
	h.idle, h.max = clocksOf(c.Idle, c.Max, r.options.Idle, r.options.Max)
	fingerprint, err := fingerprintOf(&c, with)
	if err != nil {
		return nil, err
	}
	h.journal = state.JournalFrom(ctx)
	if h.journal == nil {
		h.alone = true
		id := fmt.Sprintf("%016x%016x", randomSeed(), r.drawn.Add(1))
		h.journal = state.NewJournal(state.Scope{Task: id}, state.JournalOptions{})
	}
	if err := h.interrupted(ctx); err != nil {
		return nil, err
	}
	if h.journaled, err = h.journal.Begin(c.Name, fingerprint); err != nil {
		return nil, err
	}
	h.seedBase = mix(r.seed ^ hashOf(h.journaled.ID()))
	return h, nil
}

// argumentsOf makes the arguments canonical; none are an empty object.
func argumentsOf(with any) (any, error) {
	if with == nil {
		return map[string]any{}, nil
	}
	v, err := value.Normalize(with)
	if err != nil {
		return nil, fmt.Errorf("the arguments of a call: %w", err)
	}
	return v, nil
}

// fingerprintOf identifies what is asked for: on a re-run the same hop must ask
// for the same. A decision alone depends on what servers must offer, too.
func fingerprintOf(c *state.Call, with any) (string, error) {
	asked := map[string]any{"capability": c.Capability, "server": c.Server, "tool": c.Tool, "with": with}
	if c.RouteOnly {
		for name, attributes := range map[string]map[string]any{"need": c.Need, "prefer": c.Prefer} {
			v, err := value.Normalize(attributes)
			if err != nil {
				return "", fmt.Errorf("what the servers must offer (%s): %w", name, err)
			}
			asked[name] = v
		}
	}
	canonical, err := value.Encode(asked)
	if err != nil {
		return "", fmt.Errorf("the arguments of a call: %w", err)
	}
	return state.Hash(canonical), nil
}

func whatOf(c *state.Call) string {
	switch {
	case c.Tool != "" && c.Server != "":
		return c.Tool + " on " + c.Server
	case c.Capability == "":
		return c.Tool
	}
	return c.Capability
}

// run makes attempts until one answers, or no other may be made.
func (h *hop) run(ctx context.Context) (state.Answer, error) {
	h.r.budget.call()
	if err := h.findBound(ctx); err != nil {
		return state.Answer{}, err
	}
	if a, settled, err := h.settlePrior(ctx); settled || err != nil {
		return a, err
	}
	for {
		chosen, err := h.choose(ctx)
		if err == nil {
			end, fatal := h.attempt(ctx, chosen)
			switch {
			case fatal == nil && end.asks != nil:
				fatal = h.askInput(ctx, *end.asks)
			case fatal != nil || end.failed == nil:
				return end.answer, fatal
			default:
				err = h.proceed(ctx, end.by, end.failed)
			}
			if fatal != nil {
				return state.Answer{}, fatal
			}
		}
		if err == nil {
			continue
		}
		a, settled, err := h.settle(ctx, err)
		if settled || err != nil {
			return a, err
		}
	}
}

// interrupted says why nothing more may be begun: the caller's time is over, it
// was cancelled, or the run drains.
func (h *hop) interrupted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return h.cut(ctx, err)
	}
	select {
	case <-state.Draining(ctx):
		return h.drained()
	default:
		return nil
	}
}

func (h *hop) cut(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s was cancelled: %w", h.what, cause)
	}
	all := []error{cause}
	for _, a := range h.attempts {
		all = append(all, a)
	}
	return &DeadlineError{Capability: h.what, HopID: h.id(), Err: errors.Join(all...)}
}

func (h *hop) drained() error {
	return fmt.Errorf("%s of node %q: %w", h.what, h.journal.Scope().Node, state.ErrDraining)
}

func (h *hop) id() string {
	if h.journaled == nil {
		return ""
	}
	return h.journaled.ID()
}

func (h *hop) info() HopInfo {
	if h.journal == nil {
		return HopInfo{Capability: h.call.Capability}
	}
	s := h.journal.Scope()
	return HopInfo{Thread: s.Thread, Node: s.Node, Task: s.Task, Hop: h.id(), Capability: h.call.Capability}
}

// seedNext returns the next number of the hop's own sequence.
func (h *hop) seedNext() uint64 {
	h.draws++
	return mix(h.seedBase + h.draws)
}

// wait waits for d, for a wake-up, or for whatever interrupts the hop.
func (h *hop) wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	t, begun := time.NewTimer(d), time.Now()
	defer func() {
		t.Stop()
		h.rested += time.Since(begun)
	}()
	select {
	case <-t.C:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
	case <-state.Draining(ctx):
	}
	return h.interrupted(ctx)
}

// replayed is the answer that an earlier run recorded.
func replayed(c *state.Call, rec state.Record) (state.Answer, error) {
	a := state.Answer{
		IsError: rec.IsError, Hop: rec.Hop, Server: rec.Server, Endpoint: rec.Endpoint, Session: rec.Session, Tool: rec.Tool, Replayed: true,
	}
	if len(rec.Result) == 0 {
		return a, nil
	}
	if c.RouteOnly {
		var route routeResult
		if err := json.Unmarshal(rec.Result, &route); err != nil {
			return state.Answer{}, fmt.Errorf("the recorded decision of hop %s: %w", rec.Hop, err)
		}
		a.Session = route.Session
		return a, nil
	}
	v, err := value.Parse(rec.Result)
	if err != nil {
		return state.Answer{}, fmt.Errorf("the recorded result of hop %s: %w", rec.Hop, err)
	}
	a.Value = v
	return a, nil
}
