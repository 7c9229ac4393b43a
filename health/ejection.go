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
	e.until = now.Add(d)
	// One more failure after the return ejects again: it is on probation.
	e.row = ejectAfter - 1
}

// Success ends the row, and an ejection under way: recovery is as quick.
func (e *Ejection) Success(now time.Time) {
	e.row = 0
	if now.Before(e.until) {
		e.until = now
	}
}

// Until returns the end of the last ejection, zero when there was none.
func (e *Ejection) Until() time.Time { return e.until }
