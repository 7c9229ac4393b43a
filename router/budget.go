package router

import (
	"sync"
	"time"
)

// budget lets a share of the calls be retries, and a few at once whatever the
// share: an outage must not multiply the traffic. Tokens: each call brings a
// share of one, each retry takes one; below the floor they come back with time.
type budget struct {
	share, floor float64

	mu      sync.Mutex
	tokens  float64
	last    time.Time
	waiting int
}

const (
	// budgetRefill is how fast tokens come back up to the floor.
	budgetRefill = time.Second
	// budgetQueue is how many hops may wait for a token at once: in an outage the
	// others fail at once rather than pile up.
	budgetQueue = 100
	// budgetMost bounds what a quiet time can save up, in floors.
	budgetMost = 10
)

func newBudget(share float64, floor int) *budget {
	return &budget{share: share, floor: float64(floor), tokens: float64(floor)}
}

// call counts a call that is made for the first time.
func (b *budget) call() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+b.share, b.floor*budgetMost)
}

// retry takes a token. Where there is none it says how long until there may be
// one, more than 0.
func (b *budget) retry(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < b.floor && !b.last.IsZero() {
		back := b.floor * float64(now.Sub(b.last)) / float64(budgetRefill)
		b.tokens = min(b.tokens+max(back, 0), b.floor)
	}
	b.last = now
	if b.tokens >= 1 {
		b.tokens--
		return 0
	}
	// Rounding must not turn a missing splinter of a token into none missing.
	return max(time.Duration((1-b.tokens)/b.floor*float64(budgetRefill)), time.Millisecond)
}

// enter lines up for a token; false when the line is full. Who got in leaves.
func (b *budget) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting >= budgetQueue {
		return false
	}
	b.waiting++
	return true
}

func (b *budget) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
}
