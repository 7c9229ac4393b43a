package lab

import "math/rand/v2"

// spread turns neighbouring seeds into unrelated ones.
func spread(x uint64) uint64 {
	var p rand.PCG
	p.Seed(x, 0x6c6162)
	return p.Uint64()
}

// unit is the number in [0, 1) that a seed stands for.
func unit(seed uint64) float64 { return float64(spread(seed)>>11) / (1 << 53) }

// luck gives each purpose its own random numbers, so that what one draws leaves the
// others alone and policies meet the same calls.
type luck struct{ seed uint64 }

type purpose uint64

const (
	ofArrivals purpose = iota + 1
	ofWork             // by call and attempt
	ofRouters          // which one a call goes through
	ofPicks            // by router and decision
	ofBackoff          // by call and attempt
	ofSharing          // when routers exchange
)

// stream is a source of its own for a purpose and two numbers.
func (l luck) stream(p purpose, a, b int) *rand.Rand {
	return rand.New(rand.NewPCG(l.number(p, a, b), uint64(p)))
}

// number is a seed of its own for a purpose and two numbers.
func (l luck) number(p purpose, a, b int) uint64 {
	return spread(spread(spread(l.seed+uint64(p)<<56)+uint64(a)) + uint64(b))
}
