package mcp

import (
	"math"
	"time"
)

// phase is where a request stands. All but started are final.
type phase uint8

const (
	started   phase = iota
	completed       // its answer came first
	cancelled       // the caller gave it up first
	timedOut        // one of its clocks ran out first
	failed          // its connection or its transport gave it up first
)

// clock names what timed a request out.
type clock uint8

const (
	noClock clock = iota
	idleClock
	maximumClock
	callerClock
)

const (
	// never is a time that does not come.
	noEnd = time.Duration(math.MaxInt64)
	// toldEvery is the least time between two reports that an observer is told of:
	// ten a second at most, always the newest. What rises counts for the idle clock
	// whether it is told or not.
	toldEvery = 100 * time.Millisecond
)

// coordinator decides how a call's request ends: answer, cancel, clocks and the
// connection's end all come in as events, each with its time since the call
// began, and the first to end the request wins. It neither waits nor sends.
//
//	started ──answer──▶ completed ──goesOn──▶ started (a task; its token lives on)
//	   ├──cancel──────▶ cancelled
//	   ├──clock───────▶ timedOut
//	   └──disconnect──▶ failed
//
// Invariants (R24–R27; semantics.md, "Clocks"):
//
//  1. A request reaches one final phase, once. What comes later changes nothing
//     and is told of by its kind ([Stray]).
//  2. Time decides, not the order in which goroutines run: an event at or after
//     the end of a clock finds the request timed out, whether or not anybody
//     called tick before.
//  3. Only progress that rises, under the request's own token, sets the idle clock
//     back. Nothing moves the maximum or the caller's deadline. While a person is
//     asked the idle clock stands still, and they do not.
//  4. After cancelled or timedOut nothing leaves: neither this request, if it still
//     waits to be sent, nor another one of the same call.
//  5. A new request of the call (its session was made anew) starts afresh in all
//     but its clocks.
//
// The zero value is a request without clocks. It is not safe for concurrent use.
type coordinator struct {
	id       int64 // of the request; its progress token as well
	phase    phase
	ranOut   clock // of timedOut
	left     bool  // was handed to the wire
	answered bool  // an answer under id was seen

	span    time.Duration // of the idle clock; 0: it does not run
	idle    time.Duration // when that ends
	maximum time.Duration // 0: none
	caller  time.Duration // the caller's deadline; 0: none
	asking  int           // questions to a person that are open
	rest    time.Duration // of the idle clock, while it stands still

	risen bool // a report has come
	last  float64
	told  time.Duration // when an observer may be told again
}

// due is when tick must be called next.
func (c *coordinator) due() time.Duration {
	at, _ := c.end()
	return at
}

// end is the clock that runs out first. Of two that end together the one that
// stands higher is meant.
func (c *coordinator) end() (time.Duration, clock) {
	at, which := noEnd, noClock
	if c.span > 0 && c.asking == 0 {
		at, which = c.idle, idleClock
	}
	if c.maximum > 0 && c.maximum <= at {
		at, which = c.maximum, maximumClock
	}
	if c.caller != 0 && c.caller <= at {
		at, which = c.caller, callerClock
	}
	return at, which
}

// tick lets time pass. It returns the clock that has run out, which ends the
// request unless it has ended; noClock: none yet.
func (c *coordinator) tick(at time.Duration) clock {
	end, which := c.end()
	if at < end {
		return noClock
	}
	if c.phase == started {
		c.phase, c.ranOut = timedOut, which
	}
	return which
}

// begin starts a request of the call under a new id; false: the call has ended.
func (c *coordinator) begin(at time.Duration, id int64) bool {
	if c.phase == cancelled || c.phase == timedOut {
		return false
	}
	c.id, c.phase = id, started
	c.left, c.answered, c.risen, c.last = false, false, false, 0
	c.tick(at)
	return c.phase == started
}

// leave asks whether the request may go out, and notes that it did.
func (c *coordinator) leave(at time.Duration) bool {
	c.tick(at)
	if c.phase != started {
		return false
	}
	c.left = true
	return true
}

// stay takes leave back: nothing of the request was taken, and it may still be
// withdrawn.
func (c *coordinator) stay() { c.left = false }

// answer takes the answer with the given id; noStray: it is the request's result.
func (c *coordinator) answer(at time.Duration, id int64) Stray {
	c.tick(at)
	switch {
	case id != c.id:
		return WrongID
	case c.answered:
		return DuplicateAnswer
	}
	c.answered = true
	if c.phase != started {
		return LateAnswer
	}
	c.phase = completed
	return noStray
}

// goesOn takes the request up again whose answer was only the promise of a
// result: its token lives on until finish. false: the call has ended.
func (c *coordinator) goesOn(at time.Duration) bool {
	if c.tick(at); c.phase != completed {
		return false
	}
	c.phase = started
	c.tick(at)
	return c.phase == started
}

// finish completes a request that went on, unless something else ended it first.
func (c *coordinator) finish(at time.Duration) {
	c.tick(at)
	c.ends(completed)
}

// cancel is the caller's.
func (c *coordinator) cancel(at time.Duration) {
	c.tick(at)
	c.ends(cancelled)
}

// expire ends the request by the caller's deadline, of which the caller knows best
// when it has passed.
func (c *coordinator) expire(at time.Duration) {
	c.tick(at)
	if c.ends(timedOut) {
		c.ranOut = callerClock
	}
}

// disconnect is the end of the connection, or any other failure of the transport.
func (c *coordinator) disconnect(at time.Duration) {
	c.tick(at)
	c.ends(failed)
}

func (c *coordinator) ends(as phase) bool {
	if c.phase != started {
		return false
	}
	c.phase = as
	return true
}

// notice says whether the server is owed word that nobody waits any more. One that
// has answered meanwhile is not.
func (c *coordinator) notice() bool {
	return c.left && !c.answered && (c.phase == cancelled || c.phase == timedOut)
}

// progress takes a report; noStray: it rises, and has set the idle clock back.
func (c *coordinator) progress(at time.Duration, token int64, value float64) Stray {
	c.tick(at)
	switch {
	case token != c.id:
		return UnknownToken
	case c.phase != started:
		return LateProgress
	case math.IsNaN(value) || c.risen && value <= c.last:
		return FallingProgress
	}
	c.risen, c.last = true, value
	if c.asking > 0 {
		c.rest = c.span
	} else {
		c.idle = at + c.span
	}
	return noStray
}

// stirs takes what was newly learnt of the request's task, which sets the idle
// clock back as progress does; false: the request has ended.
func (c *coordinator) stirs(at time.Duration) bool {
	if c.tick(at); c.phase != started {
		return false
	}
	if c.asking > 0 {
		c.rest = c.span
	} else {
		c.idle = at + c.span
	}
	return true
}

// tell says how long an observer must still not be told; 0: it is told now.
func (c *coordinator) tell(at time.Duration) time.Duration {
	if wait := c.told - at; wait > 0 {
		return wait
	}
	c.told = at + toldEvery
	return 0
}

// ask stops the idle clock while a person is asked; each needs its answered back.
func (c *coordinator) ask(at time.Duration) {
	if c.tick(at); c.asking == 0 {
		c.rest = c.idle - at
	}
	c.asking++
}

// replied lets the idle clock run on with what was left of it.
func (c *coordinator) replied(at time.Duration) {
	c.tick(at)
	if c.asking--; c.asking == 0 {
		c.idle = at + c.rest
	}
}
