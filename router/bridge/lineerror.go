package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"junction/router"
	"junction/state"
)

// incurable says whether waiting does not help against e: somebody has to do
// something.
func incurable(e *router.CallError) bool {
	switch e.Code {
	case router.AuthRequired, router.AuthMismatch, router.VersionUnsupported:
		return true
	case router.Transport: // a command that is not there
		return errors.Is(e, exec.ErrNotFound) || errors.Is(e, fs.ErrNotExist) || errors.Is(e, fs.ErrPermission)
	}
	return false
}

// execution is what is known of a request that is in the queue.
func (w *errand) execution() state.Execution {
	if w.unknown {
		return state.Unknown
	}
	return state.NotExecuted
}

// away is the error of a request that the server's absence ends: who is away, since
// when, what was done, and then.
func (l *Line) away(code router.Code, x state.Execution, then string) *router.CallError {
	e := &router.CallError{Code: code, Execution: x, Message: l.absence() + "; " + then}
	if l.pausing {
		e.RetryAfter = max(time.Until(l.pace.next), 0)
	}
	if l.why != nil {
		e.Err, e.Stderr = l.why, l.why.Stderr
	}
	return e
}

// absence says since when the server is away and what was done about it.
func (l *Line) absence() string {
	if l.live != nil {
		return fmt.Sprintf("server %s is slow to take requests", l.o.Name)
	}
	text := fmt.Sprintf("server %s has been away for %s (%s", l.o.Name, spell(time.Since(l.since)), count(l.attempts, "attempt"))
	if l.why != nil {
		text += "; last: " + said(l.why)
	}
	if l.pausing {
		text += "; next in " + spell(time.Until(l.pace.next))
	}
	return text + ")"
}

// full refuses a request that came when n wait already.
func (l *Line) full(n int) *router.CallError {
	return l.away(router.ServerOverload, state.NotExecuted, fmt.Sprintf("%s already, so this one was refused", waits(n)))
}

// late ends a request that has waited as long as it may.
func (l *Line) late(w *errand) *router.CallError {
	then := fmt.Sprintf("the request waited %s for it and was not sent", spell(l.o.Wait))
	if w.unknown {
		then = fmt.Sprintf("the request was under way when the server went, and waited %s to be made again", spell(l.o.Wait))
	}
	return l.away(router.Transport, w.execution(), then)
}

// poison ends a request under which too many sessions were lost.
func (l *Line) poison(w *errand, e *router.CallError) *router.CallError {
	return &router.CallError{
		Code: e.Code, Execution: w.execution(), Err: e, Stderr: e.Stderr,
		Message: fmt.Sprintf("the connection to server %s broke %d times under this request (last: %s), which may be what ends it: it is not sent again",
			l.o.Name, w.lost, said(e)),
	}
}

// cut is e for a request that a lost session took with it: that it was cut is the
// line's doing, not its caller's, and the reason is why the session was given up.
func (v *live) cut(e *router.CallError) *router.CallError {
	c := *e
	c.Code = router.Transport
	if v.why != nil {
		c.Message, c.Err, c.Stderr = said(v.why), v.why, v.why.Stderr
	}
	return &c
}

// cutOff ends a request that was lost on its way and is not one to make twice.
func (l *Line) cutOff(e *router.CallError) *router.CallError {
	v := *e
	v.Err = e
	v.Message = fmt.Sprintf("the connection to server %s broke before it answered (%s): the request may have been carried out, so it is not sent again; look at the server first",
		l.o.Name, said(e))
	return &v
}

// shut is the error of all that a closed line is asked.
func (l *Line) shut(x state.Execution) *router.CallError {
	return &router.CallError{Code: router.Transport, Execution: x, Message: fmt.Sprintf("the connection to server %s is closed", l.o.Name)}
}

// left is the error of a request whose caller does not wait any longer.
func (l *Line) left(w *errand) *router.CallError {
	e := &router.CallError{Code: router.Cancelled, Execution: w.execution(), Err: context.Cause(w.ctx)}
	then := "was not sent"
	if l.sent(w) || w.unknown {
		e.Execution, then = state.Unknown, "was sent"
	}
	what := "cancelled"
	if errors.Is(w.ctx.Err(), context.DeadlineExceeded) {
		e.Code, e.Clock, what = router.Timeout, "caller", "given up as its time was over"
	}
	e.Message = fmt.Sprintf("a request to server %s was %s; it %s", l.o.Name, what, then)
	return e
}

// said is a cause without its code.
func said(e *router.CallError) string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func waits(n int) string {
	if n == 1 {
		return "1 request waits"
	}
	return fmt.Sprintf("%d requests wait", n)
}

// spell writes a time as people say it.
func spell(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}
