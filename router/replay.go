package router

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// recordAll is how many candidates a decision holds in full.
	recordAll = 32
	// recordHeaviest is how many it holds beyond that, besides the pick.
	recordHeaviest = 8
)

// decide turns a decision that was made into data. It returns every rejection
// beside it, since the record of many only counts them.
func (r *Router) decide(b *ballot, p *pool, capability string, seed uint64) (d Decision, rejected []Rejection) {
	d = Decision{
		Capability: capability, Policy: r.options.Picker.Name(), Transform: r.options.Transform.String(), Score: r.options.Score.Name(),
		Seed: seed, Draw: b.draw, Stale: p.stale,
		Rejected: slices.Clone(p.rejected),
	}
	if b.picked >= 0 {
		d.Picked, d.Tool = p.entries[b.picked].server.ID, p.entries[b.picked].offer.Tool
	}
	chosen := make([]int, 0, len(p.entries))
	for i := range p.entries {
		if b.level < drawable && b.standing[i] == b.level {
			chosen = append(chosen, i)
		} else {
			d.Rejected = append(d.Rejected, b.reject(i, &p.entries[i]))
		}
	}
	if len(chosen) > recordAll {
		d.Omitted = len(chosen)
		chosen = b.heaviest(chosen)
		d.Omitted -= len(chosen)
	}
	terms := r.options.Score.Terms(b.members, chosen, b.scratch)
	d.Candidates = make([]Candidate, 0, len(chosen))
	for n, i := range chosen {
		e, terms := &p.entries[i], terms[n]
		terms["ramp"], terms["drift"] = b.members[i].Ramp, b.members[i].Drift
		d.Candidates = append(d.Candidates, Candidate{
			Server: e.server.ID, Tool: e.offer.Tool, Match: e.match,
			Health: min(max(b.scores[i], 0), 1), Terms: terms, Weight: b.weights[i],
		})
	}
	slices.SortStableFunc(d.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Server, b.Server) })
	rejected = d.Rejected
	if len(rejected) > recordAll {
		d.Rejected, d.Reasons = nil, countReasons(rejected)
	}
	return d, rejected
}

func countReasons(rejected []Rejection) map[string]int {
	counts := make(map[string]int)
	for _, rejection := range rejected {
		counts[rejection.Reason]++
	}
	return counts
}

// heaviest keeps the pick and the eight heaviest others, in their order.
func (b *ballot) heaviest(chosen []int) []int {
	kept := make([]int, 1, recordHeaviest+1)
	kept[0] = b.picked
	others := kept[1:] // heaviest first; of equals the first one stands first
	for _, i := range chosen {
		if i == b.picked || len(others) == recordHeaviest && b.weights[i] <= b.weights[others[recordHeaviest-1]] {
			continue
		}
		at := len(others)
		for at > 0 && b.weights[i] > b.weights[others[at-1]] {
			at--
		}
		others = slices.Insert(others[:min(len(others), recordHeaviest-1)], at, i)
	}
	kept = kept[:1+len(others)]
	slices.Sort(kept)
	return kept
}

// reject says why an entry was not drawn from.
func (b *ballot) reject(i int, e *entry) Rejection {
	rejection := Rejection{Server: e.server.ID}
	m := &b.members[i]
	switch b.standing[i] {
	case resting:
		wait := e.series.RestsUntil().Sub(b.now).Round(time.Millisecond)
		rejection.Reason, rejection.Detail = "resting", fmt.Sprintf("it asked to be left alone for %s more", wait)
	case saturated:
		rejection.Reason = "saturated"
		rejection.Detail = fmt.Sprintf("%d calls in flight of the %d it declares", m.InFlight, m.MaxConcurrent)
	case ejected, lastHope:
		rejection.Reason, rejection.Detail = "ejected", "its last calls failed in a row"
	case again:
		rejection.Reason, rejection.Detail = "tried", "this hop tried it already"
	case out:
		rejection.Reason, rejection.Detail = cmp.Or(e.reason, "tried"), e.detail
	default:
		rejection.Reason, rejection.Detail = "tried", "others fit better"
	}
	return rejection
}

// ReplayPick makes a recorded decision again from its weights and its seed, and
// returns the server it leads to: the one recorded, for every weighted random
// decision with all of its candidates (up to 32). Of others, and without a
// candidate, it returns "".
func ReplayPick(d Decision) string {
	if d.Omitted > 0 || d.Policy != (WeightedRandom{}).Name() {
		return ""
	}
	weights := make([]float64, len(d.Candidates))
	for i, c := range d.Candidates {
		weights[i] = c.Weight
	}
	i, _ := WeightedRandom{}.Pick(weights, d.Seed)
	if i < 0 {
		return ""
	}
	return d.Candidates[i].Server
}
