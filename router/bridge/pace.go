package bridge

import "time"

const (
	// longestAsked bounds what a server's Retry-After can hold off attempts to reach it.
	longestAsked = time.Hour
	// brief is how long a session must have lived for its end to be the first failure
	// of a new row: one that a server ends at once has reset nothing.
	brief = 8 * time.Second
	// prompt is the least time between an attempt and one made for a request that has
	// come, and what must be left of the back-off for it to be worth one.
	prompt = time.Second
)

// pace says when the next attempt to connect is due (R35). The loss of a session is
// a failure too: clients of a server that restarts do not come back all at once.
type pace struct {
	delay    func(n int) time.Duration // after the nth failure in a row, from 1
	failures int                       // in a row
	next     time.Time                 // when the back-off ends
	last     time.Time                 // when the last attempt began
	prompted bool                      // there was a prompt attempt in this back-off
	asked    bool                      // the server asked for this one
}

// began notes an attempt.
func (p *pace) began(now time.Time) { p.last = now }

// failed notes that the attempt came to nothing. A prompt one leaves the back-off
// that it was made in as it was.
func (p *pace) failed(now time.Time, retryAfter time.Duration) {
	if p.prompted && now.Before(p.next) && retryAfter == 0 {
		return
	}
	p.failures++
	p.wait(now, min(retryAfter, longestAsked))
}

// lost notes the end of a session that lived that long.
func (p *pace) lost(now time.Time, lived time.Duration) {
	if lived >= brief {
		p.failures = 0
	}
	p.failures++
	p.wait(now, 0)
}

func (p *pace) wait(now time.Time, asked time.Duration) {
	p.prompted, p.asked = false, asked > 0
	p.next = now.Add(max(asked, p.delay(p.failures)))
}

// prompt says whether a request that comes now, within a back-off, has an attempt
// made at once: one in a long back-off, so that many requests are not many attempts.
func (p *pace) prompt(now time.Time) bool {
	if p.prompted || p.asked || p.next.Sub(now) <= prompt || now.Sub(p.last) < prompt {
		return false
	}
	p.prompted = true
	return true
}
