package router

import "math/rand/v2"

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

// uniform returns the number in [0, 1) that seed stands for.
func uniform(seed uint64) float64 {
	var p rand.PCG
	p.Seed(seed, 0x6a756e6374696f6e)
	return float64(p.Uint64()>>11) / (1 << 53)
}
