package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"junction/health"
	"junction/state"
	"junction/state/value"
)

// choice is a decision with all that the attempt needs.
type choice struct {
	entry    entry
	contract Contract
	request  ToolCall
	argsHash string // of the tool's arguments, of a conditional call
	decision Decision
	pool     *pool // that it was chosen from, where a hedge may be
}

// choose decides where the next attempt goes and takes a place there. It waits
// for a place, for the end of a back-off, and for a ledger that cannot be
// reached; it looks for new servers before it says that there are none.
func (h *hop) choose(ctx context.Context) (*choice, error) {
	begun, rested := time.Now(), h.rested
	for {
		if err := h.interrupted(ctx); err != nil {
			return nil, err
		}
		p := h.gather(ctx)
		if h.lock.held() && h.lock.forgotten(time.Now()) { // while the hop waited, for its ledger or a place
			return nil, &unsettledError{h.lock.last()}
		}
		if err := h.keepsContract(ctx, p); err != nil {
			return nil, err
		}
		p, err := h.bar(ctx, p)
		if err != nil {
			return nil, err
		}
		picked, level, waits := h.draw(p)
		switch {
		case picked >= 0 && (level == again || level == lastHope) && !h.paused && h.only == "":
			h.paused = true
			if err := h.wait(ctx, backoff(len(h.attempts), uniform(h.seedNext())), nil); err != nil {
				return nil, err
			}
		case picked >= 0:
			if c := h.take(ctx, p, picked); c != nil {
				c.decision.Took = time.Since(begun) - (h.rested - rested)
				return c, nil
			}
		case waits:
			if err := h.queue(ctx, p); err != nil {
				return nil, err
			}
		case h.only != "": // it left, or refuses: elsewhere then
			h.only = ""
		case !h.refreshed:
			h.refreshed = true
			h.r.roster.doubtErrors()
			h.refreshErr = h.r.discovery.Refresh(ctx)
		case h.lock.held() && time.Now().Before(h.lock.patience(h.max)):
			h.refreshed = false // the ledger may come back within the maximum time
			if err := h.wait(ctx, backoffBase+backoff(len(h.attempts), uniform(h.seedNext())), nil); err != nil {
				return nil, err
			}
		case h.redials(p):
			h.redialled, h.refreshed = true, false
			h.queued += p.redial
			if err := h.wait(ctx, p.redial, nil); err != nil {
				return nil, err
			}
		default:
			return nil, &NoCandidateError{Capability: h.what, Rejected: h.rejected, Err: h.refreshErr}
		}
	}
}

// gather is the pool as it stands: the one made before, while nothing has changed
// that it depends on. Servers that are still being connected are
// waited for within the attempt's maximum, which the wait counts against.
func (h *hop) gather(ctx context.Context) *pool {
	begun := time.Now()
	snapshot := h.r.discovery.Snapshot()
	h.r.noticeChange(snapshot)
	if p := h.r.pools.current(h.asking, snapshot, h.r.roster.edition.Load(), begun); p != nil {
		return p
	}
	p := h.r.gatherPool(ctx, snapshot, &h.call, h.asking, h.max-h.queued)
	h.queued += time.Since(begun)
	return p
}

// redials reports whether it is worth waiting for a server to be connected
// again: once for each attempt whose connection broke, so that a server that is
// alone and restarts is no reason to fail.
func (h *hop) redials(p *pool) bool {
	return len(h.attempts) > 0 && !h.redialled && h.made < h.limit && p.redial > 0 && p.redial < h.max-h.queued
}

// draw decides among the pool's entries and keeps the decision.
func (h *hop) draw(p *pool) (picked int, level standing, waits bool) {
	b := ballots.Get().(*ballot)
	defer ballots.Put(b)
	seed := h.seedNext()
	pick(b, p.entries, policy{h.r.options.Score, h.r.options.Transform, h.r.options.Picker}, seed, time.Now())
	h.decision, h.rejected = h.r.decide(b, p, h.call.Capability, seed)
	return b.picked, b.level, b.counts[resting]+b.counts[saturated] > 0
}

// take maps the arguments for the picked server and takes a place there. It
// returns nil when either fails: the next decision knows.
func (h *hop) take(ctx context.Context, p *pool, picked int) *choice {
	e := p.entries[picked]
	c := &choice{entry: e, contract: p.contract, decision: h.decision}
	if h.r.options.Hedge.on() {
		c.pool = p
	}
	if h.deciding && h.call.With == nil {
		return c
	}
	var err error
	c.request, err = h.r.request(ctx, &e, h.with, h.key())
	if err == nil {
		var canonical []byte
		if canonical, err = value.Encode(c.request.Arguments); err == nil && effectOf(e.offer) == state.Conditional {
			c.argsHash = state.Hash(canonical)
		}
	}
	if err != nil {
		h.unfitFor(&e, "contract", err.Error())
		return nil
	}
	if h.lock.held() && h.lock.args != "" && h.lock.args != c.argsHash {
		h.unfitFor(&e, "ledger", "it maps the arguments differently from the server that may have executed them")
		return nil
	}
	if h.deciding {
		return c
	}
	if !e.series.Begin(e.declared.MaxConcurrent) {
		return nil // another hop was quicker: it is saturated now
	}
	return c
}

func (h *hop) key() string {
	if h.journaled == nil {
		return "decision-only"
	}
	return h.journaled.Key()
}

// keepsContract holds the arguments to the capability's own contract, once.
func (h *hop) keepsContract(ctx context.Context, p *pool) error {
	if h.checked || (h.deciding && h.call.With == nil) {
		return nil
	}
	h.checked = true
	if err := h.r.schemas.check(ctx, p.contract.Input, h.with); err != nil {
		return &ContractError{Capability: h.call.Capability, Err: err}
	}
	return nil
}

// bar returns the pool with the entries marked that this hop has something
// against; the pool itself while it has nothing against any.
func (h *hop) bar(ctx context.Context, p *pool) (*pool, error) {
	pinned := h.bound.Server
	if pinned == "" && h.only == "" && h.kin == "" && len(h.barred)+len(h.unfit)+len(h.tried) == 0 && !h.lock.held() {
		return p, nil
	}
	own := *p
	own.entries = slices.Clone(p.entries)
	p = &own
	held := pinned == ""
	for i := range p.entries {
		e := &p.entries[i]
		id := e.server.ID
		held = held || id == pinned && h.keeps(e.known)
		switch {
		case pinned != "" && id != pinned:
			e.exclude("session", "the thread's session is with "+pinned)
		case h.only != "" && id != h.only:
			e.exclude("session", "the call goes to "+h.only+" again")
		case h.task != nil && id != h.record.Server:
			e.exclude("session", "the task that the call became runs at "+h.record.Server)
		case h.kin != "" && e.server.Name != h.kin:
			e.exclude("session", "the call goes on with answers to questions of "+h.kin)
		case h.barred[id] != "":
			e.exclude("tried", h.barred[id])
		case h.unfit[place(e)].reason != "":
			e.exclude(h.unfit[place(e)].reason, h.unfit[place(e)].detail)
		case h.lock.held() && (effectOf(e.offer) != state.Conditional || h.r.ledgerOf(e) != h.lock.name):
			e.exclude("ledger", fmt.Sprintf("its ledger does not know the key: an earlier attempt may have executed under ledger %s", h.lock.name))
		case h.tried[id]:
			e.barred = tried
		}
	}
	if !held {
		return nil, h.sessionLost(ctx)
	}
	return p, nil
}

func (e *entry) exclude(reason, detail string) {
	e.barred, e.reason, e.detail = excluded, reason, detail
}

// unfitness is why a server's tool cannot take this hop's arguments.
type unfitness struct{ reason, detail string }

func (h *hop) unfitFor(e *entry, reason, detail string) {
	if h.unfit == nil {
		h.unfit = map[string]unfitness{}
	}
	h.unfit[place(e)] = unfitness{reason, detail}
}

func place(e *entry) string { return e.server.ID + "\x00" + e.offer.Tool }

// queue waits for a place at a saturated server, or for the end of a rest. As
// with a request under way there are two clocks: one that every call that ends
// at these servers sets back, since the queue moves then, and the attempt's
// maximum.
func (h *hop) queue(ctx context.Context, p *pool) error {
	begun := time.Now()
	freed := h.r.freed.wait() // before the look at the load: no release is missed
	ended := uint64(0)
	saturated := false
	rest := time.Duration(-1)
	for i := range p.entries {
		e := &p.entries[i]
		if e.barred == excluded {
			continue
		}
		var r health.Reading
		e.series.Read(begun, &r)
		ended += e.series.Ended()
		switch {
		case !r.Resting && !r.Full(e.declared.MaxConcurrent):
			return nil
		case !r.Resting:
			saturated = true
		}
		if until := e.series.RestsUntil().Sub(begun); until > 0 && (rest < 0 || until < rest) {
			rest = until
		}
	}
	if ended != h.ended {
		h.ended, h.stuck = ended, 0
	}
	wait := time.Duration(0)
	if saturated {
		wait = min(h.patience()-h.stuck, h.max-h.queued)
	}
	// A rest that was asked for is waited out while the attempt has time for it.
	if rest >= 0 && h.queued+rest < h.max && (wait <= 0 || rest < wait) {
		wait = rest
	}
	if wait <= 0 || h.journaled == nil {
		return &RejectedError{Capability: h.what, Waited: h.queued, Rejected: h.rejected}
	}
	err := h.wait(ctx, wait, freed)
	h.queued += time.Since(begun)
	h.stuck += time.Since(begun)
	return err
}

// patience is how long the hop waits in a queue that does not move.
func (h *hop) patience() time.Duration {
	switch s := h.r.options.Saturation; {
	case s < 0:
		return 0
	case s > 0:
		return s
	}
	return h.idle
}
