package bridge

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// mostLost is how many sessions may be lost under one request. One that ends its
// server whenever it comes would do so for ever.
const mostLost = 5

// mostRests is how often a request is made again because something between has no
// answer for it: the request may be why.
const mostRests = 10

// start begins a request on v, and says so when the next may leave; rest, which is to be
// called, waits for the answer and takes it in. Where v is punctual nothing is waited for
// before that.
func (l *Line) start(v *live, w *errand, out *leaving) (rest func()) {
	ctx, stop := v.during(w.ctx)
	r, e := l.written(v, w, out)
	if e == nil && ctx.Err() != nil { // its caller has gone, or v is lost
		e = &router.CallError{Code: router.Cancelled, Execution: state.NotExecuted, Message: "it was not sent"}
	}
	wait := func() (mcp.Reply, *router.CallError) { return v.session.Do(ctx, r) }
	switch {
	case e != nil:
		out.goes()
	case v.start != nil:
		wait = v.start.Start(ctx, r)
	}
	return func() {
		defer stop()
		defer out.goes()
		var reply mcp.Reply
		if e == nil {
			reply, e = wait()
		}
		l.back(v, w, reply, e)
	}
}

// written is the request for v. Writing it is not the line's: where it panics, that is
// the failure of this one.
func (l *Line) written(v *live, w *errand, out *leaving) (r *mcp.Request, e *router.CallError) {
	defer func() {
		if p := recover(); p != nil {
			l.mu.Lock()
			l.say(slog.LevelError, "the writing of a request panicked", "method", shown(w.request.Method), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			l.mu.Unlock()
			e = &router.CallError{Code: router.CapabilityMismatch, Execution: state.NotExecuted, Message: "an internal error; the log has more"}
		}
	}()
	made := *w.request.Make(v.session)
	told := made.Sent
	made.Sent = func() {
		out.goes()
		if told != nil {
			told()
		}
	}
	return &made, nil
}

// back takes in what became of a request on v.
func (l *Line) back(v *live, w *errand, reply mcp.Reply, e *router.CallError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := v.out[w]; !ok {
		return // it was abandoned
	}
	delete(v.out, w)
	switch {
	case w.over:
	case e == nil:
		l.end(w, reply, nil)
	case w.ctx.Err() != nil:
		if e.Execution == state.NotExecuted {
			delete(l.out, w)
		}
		l.end(w, mcp.Reply{}, l.left(w))
	default:
		l.failed(v, w, e)
	}
	v.drain()
}

// failed decides what follows a request that has no answer: it goes again, or the
// failure is its outcome.
func (l *Line) failed(v *live, w *errand, e *router.CallError) {
	// The way there failed, not the server; what was cut because v was given up went
	// the same way.
	way := (e.Code == router.Transport || e.Code == router.SessionExpired) && !unfit(e.HTTPStatus) ||
		e.Code == router.Cancelled && v.given()
	never := e.Execution == state.NotExecuted
	if way && (e.Code == router.Cancelled || v.forced) {
		e = v.cut(e)
	}
	switch {
	case way && never:
		l.giveUp(v, e, false)
		l.again(w, e)
	case never && e.Code == router.VersionUnsupported && !w.anew:
		w.anew = true
		l.giveUp(v, e, false)
		l.again(w, e)
	case never && e.Code == router.ServerOverload && e.RetryAfter > 0:
		l.rest(w, e)
	case way && w.request.Again:
		w.unknown = true
		l.again(w, e)
	case way:
		l.end(w, mcp.Reply{}, l.cutOff(e))
	case w.request.Again && lost(e.HTTPStatus) && w.rests < mostRests:
		w.unknown = true
		l.rest(w, e)
	default:
		l.end(w, mcp.Reply{}, w.last(e))
	}
}

// unfit lists statuses that refuse the one request for what it is, or point elsewhere
// with it: another session would change nothing.
func unfit(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// lost lists statuses with which something between says that it has no answer of the
// server: that one may be restarting behind it.
func lost(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// last is the failure of the last of several attempts, as what is known of all.
func (w *errand) last(e *router.CallError) *router.CallError {
	if !w.unknown || e.Execution != state.NotExecuted {
		return e
	}
	v := *e
	v.Execution, v.Err = state.Unknown, e
	v.Message = said(e) + "; an attempt before this one may have been carried out"
	return &v
}

// again puts a request back in its place, to leave on the next session.
func (l *Line) again(w *errand, e *router.CallError) {
	if w.lost++; w.lost >= mostLost {
		l.end(w, mcp.Reply{}, l.poison(w, e))
		return
	}
	l.requeue(w, time.Now().Add(l.o.Wait), time.Time{})
}

// rest puts a request back for as long as the server asked, at least for a back-off,
// where that is not longer than it may wait.
func (l *Line) rest(w *errand, e *router.CallError) {
	now := time.Now()
	if w.rests == 0 {
		w.until = now.Add(l.o.Wait)
	}
	w.rests++
	until := now.Add(max(e.RetryAfter, l.pace.delay(w.rests)))
	if !until.Before(w.until) {
		l.end(w, mcp.Reply{}, w.last(e))
		return
	}
	l.requeue(w, w.until, until)
}

func (l *Line) requeue(w *errand, until, rest time.Time) {
	delete(l.out, w)
	w.until, w.rest = until, rest
	l.watch(w)
	look := until
	if !rest.IsZero() {
		look = rest
	}
	w.clock.Reset(time.Until(look))
	l.waiting.add(w)
	l.signal()
}
