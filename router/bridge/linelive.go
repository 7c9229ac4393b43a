package bridge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"junction/router"
	"junction/state"
)

const (
	// settling is how long what leaves next waits for what was under way on a session
	// that was given up, so that it comes back to its place before them.
	settling = 2 * time.Second
	// closing is how long a session has to close in good order.
	closing = 2 * time.Second
	// returning is how long requests have to come back from a session that was closed.
	returning = time.Second
)

// live is a session in use by a line, and what is under way on it.
type live struct {
	session Session
	began   time.Time
	start   punctual        // the session, where that may be begun by who brings a request; else nil
	ctx     context.Context // of what is under way
	stop    context.CancelFunc
	lost    chan struct{}        // closed when it was given up
	settled chan struct{}        // closed when nothing new has to wait for what is under way
	drained chan struct{}        // closed when it was given up and nothing is under way
	over    chan struct{}        // closed when it was given up and nobody waits for it, or it has to make room
	notes   chan *errand         // leave one after another
	out     map[*errand]struct{} // under way, until their Do returns; guarded by the line
	why     *router.CallError    // it was given up; nil: the line was closed; guarded by the line
	forced  bool                 // nothing was to be expected of it any more; guarded by the line
}

func newLive(ctx context.Context, s Session) *live {
	v := &live{
		session: s, began: time.Now(), out: map[*errand]struct{}{}, notes: make(chan *errand, mostNotes),
		lost: make(chan struct{}), settled: make(chan struct{}), drained: make(chan struct{}), over: make(chan struct{}),
	}
	v.ctx, v.stop = context.WithCancel(ctx)
	if p, ok := s.(punctual); ok && p.Punctual() {
		v.start = p
	}
	return v
}

// given says whether it was given up.
func (v *live) given() bool { return ended(v.lost) }

// drain says so when v was given up and nothing is under way on it any more, or only
// what nobody waits for.
func (v *live) drain() {
	switch {
	case !v.given():
		return
	case len(v.out) == 0 && !ended(v.drained):
		close(v.drained)
	}
	for w := range v.out {
		if !w.over {
			return
		}
	}
	v.yield()
}

// yield has v end, if it goes on although it was given up.
func (v *live) yield() {
	if !ended(v.over) {
		close(v.over)
	}
}

// gone says whether its connection has ended.
func (v *live) gone() bool { return ended(v.session.Gone()) }

// note hands a notification over; when too many wait, it is dropped.
func (v *live) note(w *errand) {
	select {
	case v.notes <- w:
	default:
	}
}

// tell sends notifications until v is lost.
func (l *Line) tell(v *live) {
	for {
		select {
		case <-v.lost:
			return
		case w := <-v.notes:
			ctx, stop := v.during(w.ctx)
			if err := v.session.Notify(ctx, *w.note); err != nil {
				l.o.Logger.Debug("a notification was not sent", "server", l.o.Name, "method", w.note.Method, "err", err)
			}
			stop()
		}
	}
}

// during is ctx while v lasts.
func (v *live) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	unlink := context.AfterFunc(v.ctx, stop)
	return ctx, func() { unlink(); stop() }
}

// lose gives v up; force: nothing more is to be expected of it.
func (l *Line) lose(v *live, why *router.CallError, force bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUp(v, why, force)
}

// giveUp is lose for one who holds the lock.
func (l *Line) giveUp(v *live, why *router.CallError, force bool) {
	if l.live != v {
		return
	}
	now := time.Now()
	l.live, l.last, l.why, l.hopeless = nil, v, why, false
	v.why, v.forced = why, force
	l.pace.lost(now, now.Sub(v.began))
	l.waiting.dropNotes()
	l.say(slog.LevelWarn, "a server is away", "under_way", len(v.out), "err", why)
	l.part(v, force)
	l.become(Reconnecting)
}

// part sees v off.
func (l *Line) part(v *live, force bool) {
	close(v.lost)
	v.drain()
	l.work.Go(func() { l.bury(v, force) })
}

// bury lets what is under way on v come to its end, closes v, and settles what has
// not come back even then.
func (l *Line) bury(v *live, force bool) {
	settle := sync.OnceFunc(func() { close(v.settled) })
	defer settle()
	if !force && !v.within(settling, l.ctx.Done()) && !v.gone() {
		settle()
		l.linger(v)
	}
	v.stop()
	if !force {
		v.within(returning, l.hard.Done()) // servers are told of what ends here
	}
	ctx, stop := context.WithTimeout(l.hard, closing)
	defer stop()
	if force {
		stop()
	}
	closed := make(chan struct{})
	l.work.Go(func() { defer close(closed); v.session.Close(ctx) })
	select {
	case <-closed:
	case <-ctx.Done():
	}
	if !v.within(returning, l.hard.Done()) {
		l.abandon(v)
	}
}

// within says whether nothing was under way any more before d had passed or end was
// closed.
func (v *live) within(d time.Duration, end <-chan struct{}) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-v.drained:
		return true
	case <-wait.C:
	case <-end:
	}
	return false
}

// abandon settles what a closed session has not given back. What it still does is
// dropped.
func (l *Line) abandon(v *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := v.cut(&router.CallError{Execution: state.Unknown, Message: "the connection was closed before an answer came"})
	for w := range v.out {
		delete(v.out, w)
		if !w.over {
			l.failed(v, w, e)
		}
	}
}
