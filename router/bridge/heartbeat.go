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

// listen ends v when nothing is heard of it: a heartbeat is due when a PingInterval
// has been silent, and the next at once after one that was missed.
func (l *Line) listen(v *live) {
	if l.o.PingInterval < 0 {
		return
	}
	heard, last := v.session.Heard(), time.Now()
	for strikes := 0; ; {
		due := l.o.PingInterval / looks
		if strikes > 0 {
			due = 0
		}
		if !v.wait(due) {
			return
		}
		now := v.session.Heard()
		if now != heard {
			heard, last, strikes = now, time.Now(), 0
			continue
		}
		if strikes == 0 && time.Since(last) < l.o.PingInterval {
			continue
		}
		alive, e := l.beat(v, heard)
		switch {
		case e != nil:
			l.lose(v, e, false)
			return
		case alive:
			heard, last, strikes = v.session.Heard(), time.Now(), 0
		default:
			strikes++
		}
		if strikes == l.o.Strikes {
			l.lose(v, l.silent(strikes, time.Since(last)), true)
			return
		}
	}
}

// beat is one heartbeat. Not alive: it was missed; e: the connection cannot carry it.
func (l *Line) beat(v *live, heard int64) (alive bool, e *router.CallError) {
	ctx, stop := context.WithTimeout(v.ctx, l.o.PingTimeout)
	defer stop()
	answer := make(chan *router.CallError, 1)
	l.work.Go(func() { answer <- v.session.Ping(ctx) })
	over := time.NewTimer(l.o.PingTimeout)
	defer over.Stop()
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
		case <-over.C:
			return v.session.Heard() != heard, nil
		case <-v.lost:
			return true, nil
		}
	}
}

// wait waits that long. False: v was lost.
func (v *live) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-v.lost:
		return false
	}
}

func (l *Line) silent(strikes int, d time.Duration) *router.CallError {
	return &router.CallError{
		Code: router.Transport, Execution: state.Unknown,
		Message: fmt.Sprintf("nothing was heard of it for %s, and %s had no answer", spell(d), count(strikes, "heartbeat")),
	}
}
