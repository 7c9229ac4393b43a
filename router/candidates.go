package router

import (
	"time"

	"junction/health"
)

// Choosing is how one of several candidates is chosen; the zero value of each field
// is a router's default.
type Choosing struct {
	Score     health.Score // health.Product{}
	Transform Transform    // Plain
	Picker    Picker       // WeightedRandom{}
}

// Candidates are servers that decisions are made among outside of a hop, by the
// arithmetic of every hop's decision, on whatever clock the caller has: the lab's.
// They are not safe for concurrent use.
type Candidates struct {
	entries []entry
	ballot  ballot
}

// NewCandidates returns servers as candidates for a capability, with their series
// of t. They are all that there is: nothing is matched.
func NewCandidates(servers []*Server, capability string, t *health.Tracker, now time.Time) *Candidates {
	c := &Candidates{}
	for _, s := range servers {
		c.Add(s, capability, t, now)
	}
	return c
}

// Add lets another server join, of the same tracker as the others, and returns its
// index.
func (c *Candidates) Add(s *Server, capability string, t *health.Tracker, now time.Time) int {
	e := entry{
		server: s, series: t.Series(s.ID, capability, now), weight: s.Weight, match: 1,
		declared: health.Declared{LatencyP95: s.LatencyP95, MaxConcurrent: s.MaxConcurrent},
	}
	e.series.Declare(e.declared)
	c.entries = append(c.entries, e)
	return len(c.entries) - 1
}

// Len is how many there are.
func (c *Candidates) Len() int { return len(c.entries) }

// Series is what is known of candidate i.
func (c *Candidates) Series(i int) *health.Series { return c.entries[i].series }

// Pick decides with this seed among all candidates but those that out (nil: none)
// says are not there; those that the hop has tried before are drawn from only when
// nothing else is left, and repeated says so: a hop backs off then. −1: nobody could
// be picked, all being at their declared concurrency or resting.
func (c *Candidates) Pick(by Choosing, seed uint64, now time.Time, before []int, out func(i int) bool) (picked int, repeated bool) {
	for i := range c.entries {
		c.entries[i].barred = free
		if out != nil && out(i) {
			c.entries[i].barred = excluded
		}
	}
	for _, i := range before {
		if c.entries[i].barred == free {
			c.entries[i].barred = tried
		}
	}
	pick(&c.ballot, c.entries, by.filled(), seed, now)
	return c.ballot.picked, c.ballot.level == again || c.ballot.level == lastHope
}

// filled is the policy with its defaults, as decisions take it.
func (p Choosing) filled() policy {
	if p.Score == nil {
		p.Score = health.Product{}
	}
	if p.Picker == nil {
		p.Picker = WeightedRandom{}
	}
	return policy{p.Score, p.Transform, p.Picker}
}

// RetryBudget is the budget that bounds a worker's retries, on the caller's clock.
type RetryBudget struct{ b *budget }

// NewRetryBudget lets a share of the calls be retries (0: 0.2), and floor of them
// (0: 3) at once.
func NewRetryBudget(share float64, floor int) RetryBudget {
	o := (&Options{RetryShare: share, RetryFloor: floor}).withDefaults()
	return RetryBudget{newBudget(o.RetryShare, o.RetryFloor)}
}

// Call counts a call that is made for the first time.
func (r RetryBudget) Call() { r.b.call() }

// Retry takes a token; where there is none it returns how long until there may be
// one.
func (r RetryBudget) Retry(now time.Time) (wait time.Duration) { return r.b.retry(now) }

// Enter lines up for a token; false when the line is full: the hop fails then. Who
// got in leaves.
func (r RetryBudget) Enter() bool { return r.b.enter() }

// Leave leaves the line, with a token or without.
func (r RetryBudget) Leave() { r.b.leave() }

// RetryPatience is how long a hop waits for a token before it fails.
const RetryPatience = budgetPatience

// Backoff is the time before the nth try, from 1, at the same server: full jitter,
// of which u in [0, 1) is the chance (R35).
func Backoff(n int, u float64) time.Duration { return backoff(n, u) }
