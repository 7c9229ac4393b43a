package router

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"junction/health"
)

const (
	// recordAll is how many candidates a decision holds in full.
	recordAll = 32
	// recordHeaviest is how many it holds beyond that, besides the pick.
	recordHeaviest = 8
)

// decide turns a decision that was made into data. Where nobody was picked it
// returns every rejection beside it, since the record of many only counts them.
func (r *Router) decide(b *ballot, p *pool, capability string, seed uint64) (d Decision, rejected []Rejection) {
	d = Decision{
		Capability: capability, Policy: r.options.Picker.Name(), Transform: r.options.Transform.String(), Score: r.options.Score.Name(),
		Seed: seed, Draw: b.draw, Stale: p.stale,
	}
	if b.picked >= 0 {
		d.Picked, d.Tool = p.entries[b.picked].server.ID, p.entries[b.picked].offer.Tool
	}
	drawn := 0
	if b.level < drawable {
		drawn = b.counts[b.level]
	}
	kept := b.keep(drawn)
	d.Omitted = drawn - len(kept)
	d.Candidates = r.candidates(b, p, kept)
	refused := len(p.entries) - drawn
	if few := len(p.rejected)+refused <= recordAll; few || b.picked < 0 {
		rejected = b.rejections(p, refused)
		if few {
			d.Rejected = rejected
			return d, rejected
		}
	}
	d.Reasons = b.reasons(p, refused)
	return d, rejected
}

// candidates are the entries at these places with what their scores are made of.
func (r *Router) candidates(b *ballot, p *pool, kept []int) []Candidate {
	width := len(r.options.Score.TermNames())
	b.terms = slices.Grow(b.terms[:0], width*len(kept))[:width*len(kept)]
	r.options.Score.Terms(b.members, kept, b.terms, b.scratch)
	all := make([]Candidate, 0, len(kept))
	slab := make(health.Terms, 0, len(r.termPlaces)*len(kept))
	for n, i := range kept {
		e, from := &p.entries[i], len(slab)
		for _, term := range r.termPlaces {
			value := b.members[i].Ramp
			switch {
			case term.at < width:
				value = b.terms[n*width+term.at]
			case term.at > width:
				value = b.members[i].Drift
			}
			if !math.IsNaN(value) {
				slab = append(slab, health.Term{Name: term.name, Value: value})
			}
		}
		all = append(all, Candidate{
			Server: e.server.ID, Tool: e.offer.Tool, Match: e.match, Health: min(max(b.scores[i], 0), 1),
			Terms: slab[from:len(slab):len(slab)], Weight: b.weights[i],
		})
	}
	return all
}

// termPlace is where a decision finds a term: among the score's, or after them the
// ramp and the drift.
type termPlace struct {
	name string
	at   int
}

// termPlaces are the terms that decisions by a score hold, by name.
func termPlaces(s health.Score) []termPlace {
	var all []termPlace
	for i, name := range append(slices.Clone(s.TermNames()), "ramp", "drift") {
		all = append(all, termPlace{name, i})
	}
	slices.SortFunc(all, func(a, b termPlace) int { return cmp.Compare(a.name, b.name) })
	return all
}

// rejections are the pool's and the refused entries, by server. They are the pool's
// own where there are no others.
func (b *ballot) rejections(p *pool, refused int) []Rejection {
	if refused == 0 {
		return p.rejected
	}
	all := append(make([]Rejection, 0, len(p.rejected)+refused), p.rejected...)
	for i := range p.entries {
		if !b.drawn(i) {
			all = append(all, b.reject(i, &p.entries[i]))
		}
	}
	slices.SortStableFunc(all, func(a, b Rejection) int { return cmp.Compare(a.Server, b.Server) })
	return all
}

// reasons counts them.
func (b *ballot) reasons(p *pool, refused int) map[string]int {
	if refused == 0 {
		return p.reasons
	}
	counts := make(map[string]int, len(p.reasons)+2)
	maps.Copy(counts, p.reasons)
	for i := range p.entries {
		if !b.drawn(i) {
			counts[b.reason(i, &p.entries[i])]++
		}
	}
	return counts
}

func countReasons(rejected []Rejection) map[string]int {
	counts := make(map[string]int)
	for i := range rejected {
		counts[rejected[i].Reason]++
	}
	return counts
}

// drawn reports whether entry i was among those drawn from.
func (b *ballot) drawn(i int) bool { return b.level < drawable && b.standing[i] == b.level }

// keep returns which of the entries drawn from the record holds, in their order: all,
// or of many the pick and the eight heaviest others.
func (b *ballot) keep(drawn int) []int {
	kept := b.kept[:0]
	if drawn <= recordAll {
		for i := range b.standing {
			if b.drawn(i) {
				kept = append(kept, i)
			}
		}
		return kept
	}
	kept = append(kept, b.picked)
	others := kept[1:] // heaviest first; of equals the first one stands first
	for i := range b.standing {
		if !b.drawn(i) || i == b.picked || len(others) == recordHeaviest && b.weights[i] <= b.weights[others[recordHeaviest-1]] {
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
	rejection := Rejection{Server: e.server.ID, Reason: b.reason(i, e)}
	m := &b.members[i]
	switch b.standing[i] {
	case resting:
		wait := e.series.RestsUntil().Sub(b.now).Round(time.Millisecond)
		rejection.Detail = fmt.Sprintf("it asked to be left alone for %s more", wait)
	case saturated:
		rejection.Detail = fmt.Sprintf("%d calls in flight of the %d it declares", m.InFlight, m.MaxConcurrent)
	case ejected, lastHope:
		rejection.Detail = "its last calls failed in a row"
	case again:
		rejection.Detail = "this hop tried it already"
	case out:
		rejection.Detail = e.detail
	default:
		rejection.Detail = "others fit better"
	}
	return rejection
}

func (b *ballot) reason(i int, e *entry) string {
	switch b.standing[i] {
	case resting:
		return "resting"
	case saturated:
		return "saturated"
	case ejected, lastHope:
		return "ejected"
	case out:
		return cmp.Or(e.reason, "tried")
	}
	return "tried"
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
