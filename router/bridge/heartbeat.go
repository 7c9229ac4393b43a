package bridge

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"junction/router"
	"junction/state"
)

// looks is how often within a PingInterval it is looked whether anything was heard.
const looks = 8

// listen ends v when nothing is heard of it, or it cannot carry a heartbeat.
func (l *Line) listen(v *live) {
	if e, silent := l.heartbeats(v, v.lost); e != nil {
		l.lose(v, e, silent)
	}
}

// heartbeats says why v is at its end, as far as heartbeats show until over is closed:
// one is due when a PingInterval has been silent, and the next at once after one that
// was missed. Of a session that was given up it is known that it is refused: silence
// alone is its end.
func (l *Line) heartbeats(v *live, over <-chan struct{}) (e *router.CallError, silent bool) {
	if l.o.PingInterval < 0 {
		return nil, false
	}
	old := v.given()
	heard, last := v.session.Heard(), time.Now()
	for strikes := 0; ; {
		due := l.o.PingInterval / looks
		if strikes > 0 {
			due = 0
		}
		if !wait(due, over) {
			return nil, false
		}
		now := v.session.Heard()
		if now != heard {
			heard, last, strikes = now, time.Now(), 0
			continue
		}
		if strikes == 0 && time.Since(last) < l.o.PingInterval {
			continue
		}
		alive, e := l.beat(v, heard, over)
		switch {
		case e != nil && !old:
			return e, false
		case e != nil || alive:
			heard, last, strikes = v.session.Heard(), time.Now(), 0
		default:
			strikes++
		}
		if strikes == l.o.Strikes {
			return l.silent(strikes, time.Since(last)), true
		}
	}
}

// beat is one heartbeat. Not alive: it was missed; e: the connection cannot carry it.
func (l *Line) beat(v *live, heard int64, over <-chan struct{}) (alive bool, e *router.CallError) {
	ctx, stop := context.WithTimeout(v.ctx, l.o.PingTimeout)
	defer stop()
	answer := make(chan *router.CallError, 1)
	l.work.Go(func() { answer <- v.session.Ping(ctx) })
	late := time.NewTimer(l.o.PingTimeout)
	defer late.Stop()
	for {
		select {
		case e := <-answer:
			switch {
			case e == nil || v.session.Heard() != heard, e.HTTPStatus == http.StatusTooManyRequests: // which is no silence
				return true, nil
			case ctx.Err() == nil && (e.Code == router.Transport || e.Code == router.SessionExpired):
				return false, e
			}
			answer = nil // a bad answer of something between: the server may be heard yet
		case <-late.C:
			return v.session.Heard() != heard, nil
		case <-over:
			return true, nil
		}
	}
}

// wait waits that long. False: over was closed.
func wait(d time.Duration, over <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-over:
		return false
	}
}

func (l *Line) silent(strikes int, d time.Duration) *router.CallError {
	return &router.CallError{
		Code: router.Transport, Execution: state.Unknown,
		Message: fmt.Sprintf("nothing was heard of it for %s, and %s had no answer", spell(d), count(strikes, "heartbeat")),
	}
}
