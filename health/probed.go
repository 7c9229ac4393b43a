package health

import "time"

// Verdict is what a probe says of a server doing a capability.
type Verdict struct {
	Well bool
	// Vouches says of one that was well that it ends an ejection. One that has looked
	// at less than calls use does not, unless it had seen the server fail before.
	Vouches bool
	// Hold is for how long the server is left alone from now, after failures in a row;
	// 0: not for this one.
	Hold time.Duration
}

// Probed takes in a probe's verdict. It says whether there is an answer at all: it
// ejects, ends an ejection and counts for the uptime. The averages and the counts of the
// last minutes are left to calls, whose work a probe with its least of arguments does not
// do: a server that nobody chooses because it is slow must not look quick by it.
func (s *Series) Probed(now time.Time, v Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !v.Well:
		s.day.Add(now, true, 0)
		if v.Hold > 0 {
			s.ejection.Hold(now, now.Add(v.Hold))
		}
	default:
		s.day.AddAnswer(now)
		if v.Vouches {
			s.ejection.Vouch(now)
			s.load.lift(s.since(now))
		}
	}
	s.publish(now, false)
}

// Hold leaves a server that probes have ejected alone for as long from now, at least: its
// next probe is late.
func (s *Series) Hold(now time.Time, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ejection.held && now.Before(s.ejection.until) {
		s.ejection.Hold(now, now.Add(d))
		s.publish(now, false)
	}
}

// Worked returns when a call last succeeded, zero for never.
func (s *Series) Worked() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worked
}
