package health

import (
	"testing"
	"time"
)

func TestACallGivenUpUnansweredCanOnlyMakeAServerSlower(t *testing.T) {
	for _, c := range []struct {
		name        string
		seen        time.Duration // of an answer before; 0: none
		lost        time.Duration
		least, most time.Duration
	}{
		{"nothing was known", 0, 2 * time.Second, 2 * time.Second, 2 * time.Second},
		{"it had answered quicker", time.Second, 3 * time.Second, 1100 * time.Millisecond, 2 * time.Second},
		{"it answers as slowly", time.Second, time.Second, time.Second, time.Second},
		{"it answers slower", time.Second, time.Millisecond, time.Second, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewTracker().Series("a", "review", t0)
			if c.seen > 0 {
				s.Observe(t0, Success, c.seen)
			}
			s.Outlasted(t0, c.lost)
			r := readAt(s, t0)
			if r.Latency < c.least || r.Latency > c.most {
				t.Errorf("latency %v, want %v to %v", r.Latency, c.least, c.most)
			}
			if r.Success != 1 || r.Ejected {
				t.Errorf("success %v, ejected %v: it was no failure", r.Success, r.Ejected)
			}
		})
	}
}
