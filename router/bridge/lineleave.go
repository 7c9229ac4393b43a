package bridge

import (
	"time"

	"junction/router"
	"junction/router/mcp"
)

// patience is how long one that does not say that its request is sent holds up the
// next.
const patience = 100 * time.Millisecond

// leaving is a request on its way out.
type leaving struct {
	since time.Time
	left  chan struct{} // closed when its session has said that it has its place
}

// holds says whether what comes next has to wait for it. Nil does not hold.
func (o *leaving) holds(now time.Time) bool {
	return o != nil && !ended(o.left) && now.Sub(o.since) < patience
}

// await waits until what comes next may leave, or v is lost.
func (v *live) await(o *leaving) {
	slow := time.NewTimer(time.Until(o.since.Add(patience)))
	defer slow.Stop()
	select {
	case <-o.left:
	case <-slow.C:
	case <-v.lost:
	}
}

// sends notes that w, which was taken out of the queue, leaves on v.
func (l *Line) sends(v *live, w *errand, now time.Time) *leaving {
	l.out[w], v.out[w] = struct{}{}, struct{}{}
	l.leaving = &leaving{since: now, left: make(chan struct{})}
	return l.leaving
}

// direct says whether w, which is in the queue, may leave at once, and by its caller:
// the keeper, which would only hand it on, can sleep then.
func (l *Line) direct(w *errand, now time.Time) bool {
	return l.live != nil && l.live.punctual && !l.live.gone() && l.waiting.next(now) == w && !l.leaving.holds(now)
}

// carryDirectly makes a request on its caller's goroutine, unless something was faster:
// the keeper, which looked at the queue for another one's sake, or what ends it.
func (l *Line) carryDirectly(w *errand) (mcp.Reply, *router.CallError) {
	if v, out := l.claim(w); v != nil {
		defer l.work.Done()
		l.carry(v, w, out)
	}
	return w.wait()
}

// claim takes w out of the queue for its caller to make; nil: it has an outcome, or the
// keeper sees to it.
func (l *Line) claim(w *errand) (*live, *leaving) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch _, waits := l.waiting.find(w); {
	case !waits:
	case w.ctx.Err() != nil:
		l.waiting.remove(w)
		w.end(mcp.Reply{}, l.left(w))
	case l.direct(w, now):
		l.waiting.remove(w)
		l.work.Add(1) // which is not from zero: there is a keeper
		return l.live, l.sends(l.live, w, now)
	default:
		l.watch(w)
		l.signal()
	}
	return nil, nil
}
