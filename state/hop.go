package state

import (
	"context"
	"strconv"

	"junction/state/crash"
)

// Hop is one routed call, seen from the journal.
type Hop struct {
	journal               *Journal
	id, name, fingerprint string
	round                 int
	prior                 []Record
	result                *Record // the final one, when an earlier run recorded it
	closed                bool
}

// resume finds where a hop stands by the records of earlier runs, which are in
// order of round and attempt.
func (h *Hop) resume(known []Record) {
	ended, settled := false, true
	for _, r := range known {
		if r.Round > h.round {
			h.round, h.prior, ended, settled = r.Round, nil, false, true
		}
		h.prior = append(h.prior, r.Clone())
		ended = ended || r.Final
		settled = settled && r.harmless()
		superseded := r.repeatable() && (r.Round < known[len(known)-1].Round || !h.journal.wentOn(r))
		if r.Final && r.Status == CallSuccess && !superseded {
			h.result = &h.prior[len(h.prior)-1]
			return // what was recorded after it came too late
		}
	}
	if ended && settled {
		h.round++
		h.prior = nil
	}
}

// repeatable says that a result is one to try again for when its node runs
// again: a tool's own error without an effect. With one, the error is final
// under its key.
func (r Record) repeatable() bool { return r.IsError && r.Effect == Safe }

// wentOn reports whether the task made another hop after r: what it did next may
// follow from r's result, which must be the same then. j.mu is held.
func (j *Journal) wentOn(r Record) bool {
	n, numbered := strconv.Atoi(r.Name)
	for _, others := range j.known {
		for _, o := range others {
			if o.Hop == r.Hop {
				continue
			}
			m, alike := strconv.Atoi(o.Name)
			if numbered == nil && alike == nil && m > n || (numbered != nil || alike != nil) && !o.Started.Before(r.Started.Add(r.Duration)) {
				return true
			}
		}
	}
	return false
}

// harmless says that a failed attempt may be forgotten: it was safe, or it did
// not take effect for certain.
func (r Record) harmless() bool {
	return r.Effect == Safe || r.Execution == NotExecuted || r.Status == CallRejected
}

// ID is the hop's stable identity.
func (h *Hop) ID() string { return h.id }

// Key is the hop's idempotency key: its identity in a form servers accept (at
// most 255 visible characters).
func (h *Hop) Key() string { return "junction-" + h.id }

// Round is the round under way, from 1.
func (h *Hop) Round() int { return h.round }

// Prior returns the attempts that an earlier run made in this round, oldest
// first. One that is CallOpen has an unknown outcome.
func (h *Hop) Prior() []Record { return h.prior }

// Replay returns the final result of this hop, when an earlier run recorded
// one: nothing may be sent then.
func (h *Hop) Replay() (Record, bool) {
	if h.result == nil {
		return Record{}, false
	}
	return h.result.Clone(), true
}

// Intent makes an attempt durable before its request leaves. Only conditional
// and unsafe hops need it.
func (h *Hop) Intent(ctx context.Context, r Record) error {
	r.Status = CallOpen
	crash.Point("hop.intent.before")
	err := h.journal.intent(ctx, h.fill(r))
	crash.Point("hop.intent.after")
	return err
}

// Outcome records how an attempt ended: at once when durable (conditional and
// unsafe hops), else with the task's next store operation.
func (h *Hop) Outcome(ctx context.Context, r Record, durable bool) error {
	crash.Point("hop.outcome.before")
	err := h.journal.outcome(ctx, h.fill(r), durable)
	crash.Point("hop.outcome.after")
	return err
}

// Close ends the hop, so that the next numbered one may begin. A second call
// does nothing.
func (h *Hop) Close() {
	h.journal.mu.Lock()
	defer h.journal.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	h.journal.land()
	if h.journal.open == h.name {
		h.journal.open = ""
	}
}

func (h *Hop) fill(r Record) Record {
	s := h.journal.scope
	r = r.Clone() // the caller may change what it gave
	r.Thread, r.Seq, r.Step, r.Task, r.Node = s.Thread, s.Seq, s.Step, s.Task, s.Node
	r.Hop, r.Name, r.Round, r.InputHash = h.id, h.name, h.round, h.fingerprint
	return r
}
