package worker

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// How long an idle worker waits: for the next entry that is due, within these
// bounds. The lower one keeps thousands of entries that become due one by one
// from being asked for one by one.
const (
	idleLeast = 100 * time.Millisecond
	idleMost  = 4 * time.Second
	// idleSpread bounds the jitter at a quarter of it, for waits however long.
	idleSpread = time.Second
)

// Pauses after trouble: doubled from the first to the last, with full jitter in
// their second half.
const (
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 8 * time.Second
)

// pace draws the worker's pauses. It is safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newPace(o Options) *pace {
	seed := o.Seed
	if seed == 0 {
		h := fnv.New64a()
		h.Write([]byte(o.Owner)) // never fails
		seed = h.Sum64()
	}
	return &pace{random: rand.New(rand.NewPCG(seed, 0))}
}

// upTo is a random time below d.
func (p *pace) upTo(d time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.random.Int64N(int64(d) + 1))
}

// idle is how long to wait when the next entry is due after next; negative:
// there is none. The jitter keeps workers from asking all at once.
func (p *pace) idle(next time.Duration) time.Duration {
	if next < 0 {
		next = idleMost
	}
	d := min(max(next, idleLeast), idleMost)
	return d + p.upTo(min(d, idleSpread)/4)
}

// backoff is the pause after the nth trouble in a row, from 1.
func (p *pace) backoff(n int) time.Duration {
	d := backoffFirst
	for range n - 1 {
		if d *= 2; d >= backoffMost {
			d = backoffMost
			break
		}
	}
	return d/2 + p.upTo(d/2)
}
