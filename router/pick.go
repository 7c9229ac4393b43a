package router

import (
	"slices"
	"sync"
	"time"

	"junction/health"
)

// entry is a server that can do what a call asks for: the arithmetic of a
// decision runs over entries, sorted by server id and tool, all of one tracker.
type entry struct {
	server   *Server
	offer    *Offer
	known    *known
	series   *health.Series
	declared health.Declared
	weight   float64 // the server's in the registry; 0: unsaid, which is 1
	match    float64 // of the preferences, [0, 1]
	prefers  bool    // there were preferences
	barred   barring // why it cannot be chosen now, besides its health
	reason   string  // of an excluded one, for the record
	detail   string  // and for people
}

// barring is what a hop holds against an entry.
type barring uint8

const (
	free     barring = iota
	tried            // again only when nothing else fits
	excluded         // not in this hop
)

// standing is where an entry stands in one decision. Lower is better; the best
// standing that anybody has is drawn from.
type standing uint8

const (
	fresh     standing = iota // in order, not tried by this hop
	again                     // in order, tried by this hop
	ejected                   // ejected, not tried: all ejected → try all
	lastHope                  // ejected and tried
	resting                   // asked to be left alone: waits
	saturated                 // at its declared concurrency: waits
	out                       // not in this hop
	standings
)

// drawable is the number of standings that a draw may use.
const drawable = resting

// ballot is the workspace of one decision. It is reused, so that a decision
// neither allocates nor locks.
type ballot struct {
	now      time.Time
	members  []health.Member
	scores   []float64 // health: out of the score, at least 0
	weights  []float64 // 0 for entries that are not drawn from
	standing []standing
	scratch  []float64
	terms    []float64      // of the candidates that the record holds
	kept     [recordAll]int // which these are
	counts   [standings]int
	level    standing // drawn from; drawable when nobody could be
	draw     float64
	picked   int // index of the entry; −1 when nobody could be picked
}

var ballots = sync.Pool{New: func() any { return new(ballot) }}

func (b *ballot) reset(n int, now time.Time) {
	b.now = now
	b.members = slices.Grow(b.members[:0], n)[:n]
	b.scores = slices.Grow(b.scores[:0], n)[:n]
	b.weights = slices.Grow(b.weights[:0], n)[:n]
	b.standing = slices.Grow(b.standing[:0], n)[:n]
	b.scratch = slices.Grow(b.scratch[:0], n)[:n]
	b.counts = [standings]int{}
	b.level, b.draw, b.picked = drawable, 0, -1
}

// matchFloor is what a server that meets no preference keeps of its weight.
const matchFloor = 0.1

// policy is how a router decides.
type policy struct {
	score     health.Score
	transform Transform
	picker    Picker
}

// pick draws one of the entries: weight = transform(score × match) × registry
// weight × slow start × drift, among those of the best standing.
func pick(b *ballot, entries []entry, by policy, seed uint64, now time.Time) {
	b.reset(len(entries), now)
	windows, moment := by.score.Windows(), time.Duration(0)
	if len(entries) > 0 {
		moment = entries[0].series.Moment(now)
	}
	for i := range entries {
		e := &entries[i]
		if windows {
			e.series.Refresh(now)
		}
		m := &b.members[i]
		e.series.ReadAt(moment, &m.Reading)
		m.Declared = e.declared
		s := stand(e, m)
		b.standing[i] = s
		b.counts[s]++
	}
	by.score.Rate(b.members, b.scores, b.scratch)
	for b.level = 0; b.level < drawable && b.counts[b.level] == 0; b.level++ {
	}
	if b.level == drawable {
		return
	}
	for i := range entries {
		b.weights[i] = 0
		if b.standing[i] == b.level {
			b.weights[i] = b.scores[i] * entries[i].matchFactor()
		}
	}
	by.transform.apply(b.weights)
	b.weigh(entries)
	if p, ok := by.picker.(MemberPicker); ok {
		b.picked, b.draw = p.PickMember(b.weights, b.members, seed)
		return
	}
	b.picked, b.draw = by.picker.Pick(b.weights, seed)
}

// weigh finishes the weights of those drawn from. Where every one is 0 nobody
// is better than another, and all weigh the same.
func (b *ballot) weigh(entries []entry) {
	none := true
	for i := range entries {
		if b.standing[i] != b.level {
			b.weights[i] = 0
			continue
		}
		m := &b.members[i]
		b.weights[i] *= entries[i].registryWeight() * m.Ramp * m.Drift
		none = none && !(b.weights[i] > 0)
	}
	if !none {
		return
	}
	for i := range entries {
		if b.standing[i] == b.level {
			b.weights[i] = 1
		}
	}
}

func stand(e *entry, m *health.Member) standing {
	switch {
	case e.barred == excluded:
		return out
	case m.Resting:
		return resting
	case m.Full(m.MaxConcurrent):
		return saturated
	case m.Ejected && e.barred == tried:
		return lastHope
	case m.Ejected:
		return ejected
	case e.barred == tried:
		return again
	}
	return fresh
}

func (e *entry) matchFactor() float64 {
	if !e.prefers {
		return 1
	}
	return matchFloor + (1-matchFloor)*e.match
}

func (e *entry) registryWeight() float64 {
	if e.weight == 0 {
		return 1
	}
	return max(e.weight, 0)
}
