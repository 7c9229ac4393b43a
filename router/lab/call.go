package lab

import (
	"time"

	"junction/health"
	"junction/router"
	"junction/state"
)

// call is one caller's request, over all of its attempts.
type call struct {
	arrived time.Duration
	ended   time.Duration // once it is done
	router  int
	done    bool
	failed  bool // the caller got an error

	made    int   // attempts that failed
	sent    int   // attempts
	draws   int   // decisions
	flying  []int // attempts under way
	tried   []int // candidates
	barred  []int // candidates
	only    int   // 1 + the only candidate it may go to; 0: any
	paused  bool  // backed off since the last failure
	hedged  bool
	lined   bool          // it waits for a retry's token
	waited  time.Duration // for one
	queuing int           // how often it began to wait for a place
	inQueue bool
}

// attempt is one request to one server.
type attempt struct {
	call, number      int
	candidate, server int
	sent              time.Duration
	fate              failure // settled when its work began
	toolError         bool
	gone              bool // the server lost it
	ended             bool // for the router
	beaten            bool // by the other request of a hedge

	said health.Outcome // what its end says of the server
	took time.Duration
}

// decide chooses a server for a call and sends a request there.
func (w *world) decide(of int) {
	c := &w.calls[of]
	picked, repeated := w.pick(c, of)
	switch {
	case picked < 0 && w.full(c):
		if !c.inQueue {
			c.inQueue = true
			c.queuing++
			w.routers[c.router].waiting = append(w.routers[c.router].waiting, of)
			w.in(w.s.Timeout, givesUp, of)
		}
	case picked < 0:
		w.close(of, true)
	case repeated && !c.paused:
		c.paused = true
		w.in(router.Backoff(c.made, w.chance(ofBackoff, of, c.draws)), decides, of)
	default:
		w.send(of, picked)
	}
}

func (w *world) chance(p purpose, a, b int) float64 {
	return float64(w.luck.number(p, a, b)>>11) / (1 << 53)
}

// full reports whether a call finds no server only because all it may go to have as
// many calls as they declare.
func (w *world) full(c *call) bool {
	for i, n := range w.routers[c.router].servers {
		v := w.servers[n]
		if v.present && v.spec.MaxConcurrent > 0 && !contains(c.barred, i) && (c.only == 0 || c.only-1 == i) {
			return true
		}
	}
	return false
}

// giveUp ends a call that still waits for a place.
func (w *world) giveUp(of int) {
	c := &w.calls[of]
	if c.queuing--; c.queuing == 0 && c.inQueue && !c.done {
		w.leaveQueue(of)
		w.close(of, true)
	}
}

func (w *world) leaveQueue(of int) {
	b := w.routers[w.calls[of].router]
	w.calls[of].inQueue = false
	for i, n := range b.waiting {
		if n == of {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return
		}
	}
}

// send makes an attempt at a candidate.
func (w *world) send(of, candidate int) {
	c := &w.calls[of]
	n := w.routers[c.router].servers[candidate]
	a := len(w.attempts)
	w.attempts = append(w.attempts, attempt{call: of, number: c.sent, candidate: candidate, server: n, sent: w.at})
	c.sent++
	c.flying = append(c.flying, a)
	w.tally.sent(w.at, n)
	w.begin(a)
	if w.s.Hedge.On() && !c.hedged && w.s.Effect == state.Safe {
		if after := w.hedgeAfter(w.routers[c.router]); after > 0 {
			w.in(after, hedges, a)
		}
	}
	w.receive(a)
}

// hedge sends a second request beside one that takes long, if the budget allows it
// and there is another server.
func (w *world) hedge(a int) {
	t := &w.attempts[a]
	of := t.call
	c := &w.calls[of]
	b := w.routers[c.router]
	if t.ended || c.done || c.hedged {
		return
	}
	before := len(c.tried)
	c.tried = append(c.tried, t.candidate)
	picked, repeated := w.pick(c, of)
	c.tried = c.tried[:before]
	if picked < 0 || repeated || b.budget.Retry(w.now()) > 0 {
		return
	}
	c.hedged = true
	w.send(of, picked)
}

// timeOut ends the first attempt whose time is over by then; false where there is
// none. All have the same time, so they are over in the order in which they were sent.
func (w *world) timeOut(by time.Duration) bool {
	for ; w.overdue < len(w.attempts); w.overdue++ {
		t := &w.attempts[w.overdue]
		if t.ended {
			continue
		}
		if t.sent+w.s.Timeout > by {
			return false
		}
		w.at = t.sent + w.s.Timeout
		w.end(w.overdue, wasLate)
		return true
	}
	return false
}

// end is the end of an attempt as its router sees it; one that has ended stays so.
func (w *world) end(a int, f failure) {
	t := &w.attempts[a]
	if t.ended {
		return
	}
	switch {
	case f != none:
		w.land(a, health.Failure)
	case t.toolError:
		w.land(a, health.ToolError)
	default:
		w.land(a, health.Success)
	}
	of := t.call
	c := &w.calls[of]
	if f == none {
		for len(c.flying) > 0 {
			w.attempts[c.flying[0]].beaten = true
			w.land(c.flying[0], health.Ignored) // cancelled
		}
		w.close(of, false)
	} else {
		w.proceed(of, t.candidate, f)
	}
	w.admit(c.router)
}

// land takes an attempt out of its call's and tells the router.
func (w *world) land(a int, said health.Outcome) {
	t := &w.attempts[a]
	c := &w.calls[t.call]
	t.ended, t.said, t.took = true, said, w.at-t.sent
	for i, n := range c.flying {
		if n == a {
			c.flying = append(c.flying[:i], c.flying[i+1:]...)
			break
		}
	}
	w.release(a)
}

// admit lets calls that wait for a place try again, the first one first.
func (w *world) admit(router int) {
	b := w.routers[router]
	for len(b.waiting) > 0 {
		of := b.waiting[0]
		w.leaveQueue(of)
		sent := w.calls[of].sent
		w.decide(of)
		if w.calls[of].sent == sent && w.calls[of].inQueue {
			return
		}
	}
}

// proceed reads the table after a failed attempt, as a hop does.
func (w *world) proceed(of, candidate int, f failure) {
	c := &w.calls[of]
	c.made++
	c.paused = false
	c.tried = append(c.tried, candidate)
	switch w.next[f] {
	case router.StepStop, router.StepReconcile:
		w.close(of, true)
		return
	case router.StepOther:
		c.barred = append(c.barred, candidate)
	case router.StepSameKey:
		c.only = candidate + 1 // no other server shares its ledger
	}
	switch {
	case len(c.flying) > 0: // its hedge is still under way
	case c.made >= w.s.Attempts:
		w.close(of, true)
	default:
		w.spend(of)
	}
}

// spend takes a retry from the budget, and waits a little for one.
func (w *world) spend(of int) {
	c := &w.calls[of]
	b := w.routers[c.router]
	wait := b.budget.Retry(w.now())
	switch {
	case wait <= 0:
		w.leaveLine(c)
		w.decide(of)
		return
	case !c.lined && !b.budget.Enter():
		w.close(of, true)
		return
	}
	c.lined = true
	if c.waited += wait; c.waited > router.RetryPatience {
		w.leaveLine(c)
		w.close(of, true)
		return
	}
	w.in(wait, spends, of)
}

func (w *world) leaveLine(c *call) {
	if c.lined {
		w.routers[c.router].budget.Leave()
	}
	c.lined, c.waited = false, 0
}

// close ends a call.
func (w *world) close(of int, failed bool) {
	c := &w.calls[of]
	c.done, c.failed, c.ended = true, failed, w.at
	w.open--
	w.tally.ended(c)
}
