package bridge

import (
	"time"

	"junction/router"
)

// State is where a line stands.
type State string

// The states of a line.
const (
	Idle         State = "idle"
	Reconnecting State = "reconnecting"
	Connected    State = "connected"
	Closed       State = "closed"
)

// Status is what there is to say of a line.
type Status struct {
	State      State
	Since      time.Time         // it is in this state
	Attempts   int               // that failed since the server is away
	Next       time.Time         // when the next one is due; zero: one is under way, or none is needed
	Why        *router.CallError // the last attempt's failure, or the end of the last session
	Queued     int               // requests that wait
	Reconnects int               // sessions but the first, ever
}

// Status returns the line's status.
func (l *Line) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{
		State: l.state, Since: l.since, Attempts: l.attempts, Why: l.why,
		Queued: l.waiting.requests(), Reconnects: max(l.sessions-1, 0),
	}
	if l.pausing {
		s.Next = l.pace.next
	}
	return s
}

// report tells of a change. Only the keeper calls it, and Close after its end, so that
// changes are told in their order.
func (l *Line) report() {
	if l.o.OnStatus != nil {
		l.o.OnStatus(l.Status())
	}
}

// become changes the state and wakes whoever waits for that.
func (l *Line) become(s State) {
	l.state, l.since = s, time.Now()
	l.stir()
}

func (l *Line) stir() {
	close(l.changed)
	l.changed = make(chan struct{})
}
