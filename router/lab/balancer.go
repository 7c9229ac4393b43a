package lab

import (
	"time"

	"junction/health"
	"junction/router"
)

// balancer is one router: what it knows, and the real arithmetic.
type balancer struct {
	choosing   router.Choosing
	knows      knowledge
	tracker    *health.Tracker
	candidates *router.Candidates
	servers    []int // by candidate
	budget     router.RetryBudget
	results    *health.Window // of successful calls, for hedging
	waiting    []int          // calls without a place at any server

	told      shares
	exchanged int

	patience time.Duration // before a hedge
	measured time.Duration // when that was last computed
}

func newBalancer(w *world, p Policy) *balancer {
	b := &balancer{
		tracker: health.NewTracker(),
		budget:  router.NewRetryBudget(w.s.RetryShare, w.s.RetryFloor),
		results: health.NewWindow(10, 3*time.Second),
	}
	b.candidates = router.NewCandidates(nil, capability, b.tracker, start)
	b.knows.capacity = func(candidate int) float64 { return w.servers[b.servers[candidate]].capacity() }
	b.knows.declared = func(candidate int, m *health.Member) {
		v := w.servers[b.servers[candidate]].spec
		m.LatencyP95 = orElse(m.LatencyP95, 3*v.Time) // of an exponential time
		m.MaxConcurrent = orElse(m.MaxConcurrent, v.Workers)
	}
	b.choosing = p.make(&b.knows)
	return b
}

// capability is what all calls ask for.
const capability = "work"

func (b *balancer) join(w *world, n int) {
	v := w.servers[n]
	b.candidates.Add(&router.Server{
		ID: v.name, Name: v.name, Weight: v.spec.Weight, MaxConcurrent: v.spec.MaxConcurrent, LatencyP95: v.spec.LatencyP95,
	}, capability, b.tracker, w.now())
	b.servers = append(b.servers, n)
}

// pick decides for a call, or for its hedge, which must go to a server that the call
// has not been sent to.
func (w *world) pick(c *call, of int) (candidate int, repeated bool) {
	b := w.routers[c.router]
	out := func(i int) bool {
		return !w.servers[b.servers[i]].present || c.only > 0 && i != c.only-1 || contains(c.barred, i)
	}
	c.draws++
	return b.candidates.Pick(b.choosing, w.luck.number(ofPicks, of, c.draws), w.now(), c.tried, out)
}

func contains(all []int, x int) bool {
	for _, y := range all {
		if x == y {
			return true
		}
	}
	return false
}

func (w *world) series(t *attempt) *health.Series {
	return w.routers[w.calls[t.call].router].candidates.Series(t.candidate)
}

// begin tells the router of an attempt's beginning, as late as it hears.
func (w *world) begin(a int) {
	if w.s.LoadAge > 0 {
		w.in(w.s.LoadAge, begun, a)
		return
	}
	w.series(&w.attempts[a]).Begin(0)
}

// release tells the router how an attempt ended, as late as it hears.
func (w *world) release(a int) {
	t := &w.attempts[a]
	if w.s.LoadAge == 0 && w.s.NewsAge == 0 {
		w.series(t).End(w.now(), t.said, t.took)
		w.learn(t)
		return
	}
	w.in(w.s.LoadAge, over, a)
	w.in(w.s.NewsAge, told, a)
}

func (w *world) tell(t *attempt) {
	w.series(t).Observe(w.now(), t.said, t.took)
	w.learn(t)
}

// learn is what is known of an attempt's end beside the server's health.
func (w *world) learn(t *attempt) {
	if t.beaten {
		w.series(t).Outlasted(w.now(), t.took)
	}
	if t.said != health.Success {
		return
	}
	b := w.routers[w.calls[t.call].router]
	b.results.Add(w.now(), false, t.took)
	for _, f := range b.knows.ended {
		f(t.candidate, w.now(), t.took)
	}
}

// hedgeAfter is how long an attempt may take before a second one is sent; 0: not yet
// known.
func (w *world) hedgeAfter(b *balancer) time.Duration {
	h := w.s.Hedge
	if h.Quantile == 0 {
		return h.After
	}
	if b.patience == 0 || w.at-b.measured >= time.Second/4 {
		b.patience, b.measured = b.results.P95(w.now()), w.at
	}
	return b.patience
}

// told is what a router last told the others.
type shares struct {
	at  time.Duration
	all []health.Share
}

// mostShares bounds what a router tells, and fadeOver for how many intervals it counts.
const (
	mostShares = 256
	fadeOver   = 3
)

// exchange has a router tell the others its load and hear theirs.
func (w *world) exchange(n int) {
	b := w.routers[n]
	b.told = shares{w.at, b.tracker.Shares(w.now(), mostShares)}
	peers := make([]health.Peer, 0, len(w.routers))
	fade := fadeOver * w.s.Share
	for i, other := range w.routers {
		if age := w.at - other.told.at; i != n && other.told.all != nil && age < fade {
			peers = append(peers, health.Peer{Age: age, Shares: other.told.all})
		}
	}
	b.tracker.Hear(w.now(), peers, len(peers), fade)
	b.exchanged++
	w.planExchange(n)
}

// planExchange draws when a router exchanges next: no two beat together.
func (w *world) planExchange(n int) {
	b := w.routers[n]
	w.in(time.Duration(float64(w.s.Share)*(2+2*w.chance(ofSharing, n, b.exchanged))/3), exchanges, n)
}
