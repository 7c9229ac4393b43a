package health

import "time"

// Ejection takes a server out after failures in a row. It counts, it does not
// compare: pools of three have no outliers to speak of. Each further ejection
// lasts twice as long, up to a cap; a success ends the row, and a long healthy
// time forgets earlier ejections.
type Ejection struct {
	row   int // failures since the last success
	times int // ejections that still count
	until time.Time

	held  bool // what lasts until then is a probe's verdict
	spent bool // a probe has ended an ejection, and no call has succeeded since
}

const (
	ejectAfter  = 3                // failures in a row
	ejectFirst  = 5 * time.Second  // doubled each time
	ejectAtMost = 2 * time.Minute  // cap
	ejectForget = 10 * time.Minute // after an ejection's end
)

// Failure counts one. Calls that were in flight when the ejection began do not
// lengthen it.
func (e *Ejection) Failure(now time.Time) {
	if now.Before(e.until) {
		return
	}
	if e.row++; e.row < ejectAfter {
		return
	}
	if !e.until.IsZero() && now.Sub(e.until) > ejectForget {
		e.times = 0
	}
	d := ejectAtMost
	if e.times < 16 { // a larger shift would overflow long past the cap
		d = min(ejectFirst<<e.times, ejectAtMost)
	}
	e.times++
	e.until, e.held = now.Add(d), false
	// One more failure after the return ejects again: it is on probation.
	e.row = ejectAfter - 1
}

// Success ends the row, and an ejection under way: recovery is as quick.
func (e *Ejection) Success(now time.Time) {
	e.row, e.held, e.spent = 0, false, false
	if now.Before(e.until) {
		e.until = now
	}
}

// Hold ejects until then at least: probes failed in a row. What returns from it is on
// probation.
func (e *Ejection) Hold(now, until time.Time) {
	if until.After(e.until) {
		e.until = until
	}
	e.held = now.Before(e.until)
	e.row = ejectAfter - 1
}

// Vouch takes a probe's word that the server works, and reports whether that ended an
// ejection. One that probes brought about always ends so. One that calls brought about
// does once: where the next call fails all the same, the probe does not see what is
// wrong, and is not heard again before a call has succeeded.
func (e *Ejection) Vouch(now time.Time) bool {
	if !now.Before(e.until) || e.spent && !e.held {
		return false
	}
	e.until, e.held, e.spent = now, false, true
	return true
}

// Until returns the end of the last ejection, zero when there was none.
func (e *Ejection) Until() time.Time { return e.until }
