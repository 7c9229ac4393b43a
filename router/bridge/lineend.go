package bridge

import (
	"context"
	"fmt"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Ready returns the live session, and waits for one where there is none. Its error
// says who is away, since when, and what was done.
func (l *Line) Ready(ctx context.Context) (Session, *router.CallError) {
	late := time.NewTimer(l.o.Wait)
	defer late.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	tried := l.tried
	for urged := false; ; urged = true {
		switch {
		case l.state == Closed:
			return nil, l.shut(state.NotExecuted)
		case l.live != nil && !l.live.gone():
			return l.live.session, nil
		case !urged && !l.urge() && l.hopeless, l.hopeless && l.tried != tried:
			return nil, l.away(l.why.Code, state.NotExecuted, "and waiting does not cure that")
		}
		changed := l.changed
		l.mu.Unlock()
		var e func() *router.CallError
		select {
		case <-changed:
		case <-ctx.Done():
			e = func() *router.CallError { return l.unready(ctx) }
		case <-late.C:
			e = func() *router.CallError {
				return l.away(router.Transport, state.NotExecuted, fmt.Sprintf("%s were waited for it", spell(l.o.Wait)))
			}
		}
		l.mu.Lock()
		if e != nil {
			return nil, e()
		}
	}
}

// unready is the error of one who waited for a session and does so no longer.
func (l *Line) unready(ctx context.Context) *router.CallError {
	e := l.away(router.Cancelled, state.NotExecuted, "it is not waited for any longer")
	if ctx.Err() == context.DeadlineExceeded {
		e.Code, e.Clock = router.Timeout, "caller"
	}
	return e
}

// quiet waits until nothing is under way on the line, or it is not connected: at most d,
// and as long as ctx lasts.
func (l *Line) quiet(ctx context.Context, d time.Duration) {
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	look := time.NewTicker(looking)
	defer look.Stop()
	for l.busy() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// looking is how often it is looked whether something is under way.
const looking = 100 * time.Millisecond

func (l *Line) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live != nil && len(l.out)+l.waiting.requests() > 0
}

// Close ends the line. Whatever waits or is under way has an error for its outcome.
// When ctx ends before the session has closed, it is ended by force.
func (l *Line) Close(ctx context.Context) {
	l.mu.Lock()
	first := l.state != Closed
	if first {
		l.shutdown()
	}
	l.mu.Unlock()
	done := make(chan struct{})
	go func() { defer close(done); l.work.Wait() }()
	select {
	case <-done:
	case <-ctx.Done():
		l.cut()
		t := time.NewTimer(returning)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
		}
	}
	l.cut()
	if first {
		l.report()
	}
}

// shutdown answers all requests and begins the end of the session.
func (l *Line) shutdown() {
	l.become(Closed)
	l.stop()
	for _, w := range l.waiting.dropRequests() {
		l.end(w, mcp.Reply{}, l.shut(w.execution()))
	}
	for w := range l.out {
		l.end(w, mcp.Reply{}, l.shut(state.Unknown))
	}
	if v := l.live; v != nil {
		l.live = nil
		l.part(v, false)
	}
}
