package bridge

import (
	"context"
	"log/slog"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// mostNotes bounds the notifications that wait.
const mostNotes = 64

// keep runs a line: attempts until one holds, then what is queued leaves until the
// session is lost.
func (l *Line) keep() {
	l.report()
	for {
		v := l.reconnect()
		if v == nil {
			return
		}
		l.report()
		l.serve(v)
		if l.ctx.Err() != nil {
			return
		}
		l.report()
	}
}

// reconnect makes attempts until one holds; nil when the line was closed.
func (l *Line) reconnect() *live {
	for l.pause() {
		s, e := l.attempt()
		if e == nil {
			return l.install(s)
		}
		if l.ctx.Err() != nil {
			return nil
		}
		l.missed(e)
		l.report()
	}
	return nil
}

// pause waits until the next attempt is due. False: the line was closed.
func (l *Line) pause() bool {
	l.mu.Lock()
	select {
	case <-l.hurry: // it came as the last back-off ended
	default:
	}
	wait := time.NewTimer(time.Until(l.pace.next))
	defer wait.Stop()
	l.pausing = true
	l.mu.Unlock()
	select {
	case <-wait.C:
	case <-l.hurry:
	case <-l.ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pausing = false
	l.pace.began(time.Now())
	return l.ctx.Err() == nil
}

// attempt opens a session and restores what the last one had.
func (l *Line) attempt() (Session, *router.CallError) {
	ctx, stop := context.WithTimeout(l.ctx, l.o.Connect)
	defer stop()
	s, e := l.dial(ctx, l.o.Events)
	if e != nil {
		return nil, e
	}
	if l.o.Restore != nil {
		e = l.o.Restore(ctx, s)
	}
	if e == nil {
		if !ended(s.Gone()) {
			return s, nil
		}
		e = ending(s)
	}
	l.dismiss(s)
	return nil, e
}

// dismiss closes a session that was never used.
func (l *Line) dismiss(s Session) {
	l.work.Go(func() {
		ctx, stop := context.WithTimeout(l.hard, closing)
		defer stop()
		s.Close(ctx)
	})
}

// missed notes a failed attempt, and tells those who wait where waiting is in vain.
func (l *Line) missed(e *router.CallError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.attempts++
	l.tried++
	l.why, l.hopeless = e, incurable(e)
	l.pace.failed(now, e.RetryAfter)
	if l.hopeless {
		for _, w := range l.waiting.dropRequests() {
			w.end(mcp.Reply{}, l.away(e.Code, w.execution(), "and waiting does not cure that"))
		}
	}
	l.say(slog.LevelWarn, "a server cannot be reached", "attempts", l.attempts, "next", l.pace.next.Sub(now).Round(time.Millisecond), "err", e)
	l.stir()
}

// install makes s the line's session once what was under way on the last one is back
// in its place. Nil: the line was closed.
func (l *Line) install(s Session) *live {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last != nil {
		select {
		case <-last.settled:
		case <-l.ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == Closed {
		l.dismiss(s)
		return nil
	}
	v := newLive(l.ctx, s)
	l.say(slog.LevelInfo, "a server is connected", "away", time.Since(l.since).Round(time.Millisecond), "attempts", l.attempts)
	l.live, l.last, l.attempts, l.why, l.hopeless = v, nil, 0, nil, false
	l.sessions++
	l.become(Connected)
	l.work.Go(func() { l.listen(v) })
	l.work.Go(func() { l.tell(v) })
	return v
}

// serve has what is queued leave on v, in order, until v is lost.
func (l *Line) serve(v *live) {
	for {
		w, out := l.next(v)
		switch {
		case w == nil && out == nil:
			select {
			case <-l.more:
			case <-v.session.Gone():
				l.lose(v, ending(v.session), false)
				return
			case <-v.lost:
				return
			}
		case w == nil:
			v.await(out)
		case w.note != nil:
			v.note(w)
		default:
			l.work.Go(func() { l.start(v, w, out)() })
		}
	}
}

// next takes out what leaves next on v, with what says that it has left. Without a
// message it is what has yet to leave before; neither: there is nothing yet, or v is
// lost.
func (l *Line) next(v *live) (*errand, *leaving) {
	if v.gone() {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live != v {
		return nil, nil
	}
	now := time.Now()
	for w := l.waiting.next(now); w != nil; w = l.waiting.next(now) {
		if l.leaving.holds(now) {
			return nil, l.leaving
		}
		l.waiting.remove(w)
		switch {
		case w.note != nil && w.ctx.Err() == nil:
			return w, nil
		case w.note != nil: // too late for it
		case w.ctx.Err() != nil:
			w.end(mcp.Reply{}, l.left(w))
		default:
			l.watch(w)
			w.clock.Stop()
			return w, l.sends(v, w, now)
		}
	}
	return nil, nil
}

// ending is why a session has ended.
func ending(s Session) *router.CallError {
	if e := s.Why(); e != nil {
		return e
	}
	return &router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "the connection has ended"}
}
