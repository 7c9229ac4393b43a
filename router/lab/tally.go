package lab

import (
	"slices"
	"time"
)

// tick is the width of the buckets in which requests are counted.
const tick = 100 * time.Millisecond

// tally is what a run is measured by.
type tally struct {
	s        *Scenario
	servers  int
	watched  int           // −1: none
	fair     []float64     // by server: its capacity by that of all
	requests []uint32      // by tick and server
	seconds  []second      // by second of arrival
	made     int           // requests of calls that are measured
	last     time.Duration // when the last call ended
}

type second struct {
	calls, errors int
	took          []float32 // ms, of the calls with an answer
}

func newTally(w *world) *tally {
	t := &tally{s: w.s, servers: len(w.servers), watched: -1, fair: make([]float64, len(w.servers))}
	all := 0.0
	for i, v := range w.servers {
		t.fair[i] = v.spec.capacity()
		all += t.fair[i]
		if v.name == w.s.Watch {
			t.watched = i
		}
	}
	for i := range t.fair {
		t.fair[i] /= all
	}
	t.seconds = make([]second, int((w.s.Duration+time.Second-1)/time.Second))
	t.requests = make([]uint32, len(w.servers)*int((w.s.Duration+time.Second)/tick+1))
	return t
}

// sent counts a request; those after the last arrival are of no interest.
func (t *tally) sent(at time.Duration, server int) {
	if i := int(at/tick)*t.servers + server; i < len(t.requests) {
		t.requests[i]++
	}
}

// ended counts a call.
func (t *tally) ended(c *call) {
	i := int(c.arrived / time.Second)
	s := &t.seconds[i]
	s.calls++
	t.last = c.ended
	if c.failed {
		s.errors++
	} else {
		s.took = append(s.took, float32(milliseconds(c.ended-c.arrived)))
	}
	if i >= t.begins() {
		t.made += c.sent
	}
}

// measured are the seconds that count.
func (t *tally) measured() []second { return t.seconds[t.begins():] }

// begins is the first whole second after the warm-up.
func (t *tally) begins() int { return int((t.s.Warmup + time.Second - 1) / time.Second) }

// within counts requests in [from, to) to a server, and to all.
func (t *tally) within(from, to time.Duration, server int) (own, all int) {
	for i := int(from / tick); i < int(to/tick); i++ {
		row := t.requests[min(i*t.servers, len(t.requests)):min((i+1)*t.servers, len(t.requests))]
		for n, count := range row {
			all += int(count)
			if n == server {
				own += int(count)
			}
		}
	}
	return own, all
}

// share is that of a server in [from, to); 0 where nothing was sent.
func (t *tally) share(from, to time.Duration, server int) float64 {
	own, all := t.within(from, to, server)
	if all == 0 {
		return 0
	}
	return float64(own) / float64(all)
}

// first returns the first time from which on, for a second, the watched server's
// share is as asked; false when it never is before the end.
func (t *tally) first(from time.Duration, is func(byFair float64) bool) (time.Duration, bool) {
	for at := from; at+time.Second <= t.s.Duration; at += tick {
		if _, all := t.within(at, at+time.Second, t.watched); all > 0 && is(t.share(at, at+time.Second, t.watched)/t.fair[t.watched]) {
			return at - from, true
		}
	}
	return t.s.Duration - from, false
}

// quantile returns the qth of xs, which it sorts; 0 for none.
func quantile(xs []float32, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	slices.Sort(xs)
	return float64(xs[min(int(q*float64(len(xs))), len(xs)-1)])
}
