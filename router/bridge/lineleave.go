package bridge

import (
	"sync"
	"time"
)

// patience is how long one that does not say that its request is sent holds up the
// next.
const patience = 100 * time.Millisecond

// leaving is a request on its way out.
type leaving struct {
	since time.Time
	left  chan struct{} // closed when its session has said that it has its place
	once  sync.Once
}

// goes says that what comes next may leave.
func (o *leaving) goes() { o.once.Do(func() { close(o.left) }) }

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

// direct says whether what comes may leave at once, and by its caller: the keeper, which
// would only hand it on, can sleep then.
func (l *Line) direct(now time.Time) bool {
	v := l.live
	return v != nil && v.start != nil && !v.gone() && l.waiting.next(now) == nil && !l.leaving.holds(now)
}
