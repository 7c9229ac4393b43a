package router

import (
	"math/rand/v2"

	"junction/health"
)

// Picker draws one of the candidates by their weights.
type Picker interface {
	// Name is the policy that a decision records.
	Name() string
	// Pick returns the index of a weight above 0, of which there is at least
	// one, and the draw that led to it. The same weights and seed lead to the
	// same pick. It neither allocates nor blocks.
	Pick(weights []float64, seed uint64) (index int, draw float64)
}

// WeightedRandom picks each candidate with a chance in proportion to its
// weight: never always the best, so that callers who know the same do not all
// run to the same server.
type WeightedRandom struct{}

// Name returns "weighted-random".
func (WeightedRandom) Name() string { return "weighted-random" }

// Pick implements [Picker]. The draw is in [0, sum of the weights).
func (WeightedRandom) Pick(weights []float64, seed uint64) (index int, draw float64) {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	draw = uniform(seed) * total
	sum, last := 0.0, -1
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i // rounding may leave the draw past the last sum
		if sum += w; draw < sum {
			break
		}
	}
	return last, draw
}

// MemberPicker is a [Picker] that looks at more than the weights.
type MemberPicker interface {
	Picker
	// PickMember is Pick with what is known of each candidate beside its weight.
	PickMember(weights []float64, members []health.Member, seed uint64) (index int, draw float64)
}

// LeastLoaded draws two of the candidates by their weights, with replacement, and
// takes the one with fewer calls in flight for each place that it declares, of
// equals the first drawn ("the power of two choices", Mitzenmacher 2001). A record
// of it cannot be replayed from the weights alone.
type LeastLoaded struct{}

// Name returns "least-loaded".
func (LeastLoaded) Name() string { return "least-loaded" }

// Pick is that of WeightedRandom: without members there is no load to compare.
func (LeastLoaded) Pick(weights []float64, seed uint64) (index int, draw float64) {
	return WeightedRandom{}.Pick(weights, seed)
}

// PickMember implements [MemberPicker].
func (LeastLoaded) PickMember(weights []float64, members []health.Member, seed uint64) (index int, draw float64) {
	one, draw := WeightedRandom{}.Pick(weights, seed)
	two, _ := WeightedRandom{}.Pick(weights, mix(seed))
	if one != two && two >= 0 && members[two].Occupied() < members[one].Occupied() {
		return two, draw
	}
	return one, draw
}

// uniform returns the number in [0, 1) that seed stands for.
func uniform(seed uint64) float64 {
	var p rand.PCG
	p.Seed(seed, 0x6a756e6374696f6e)
	return float64(p.Uint64()>>11) / (1 << 53)
}
