package health

import (
	"testing"
	"time"
)

func TestSilenceLastsFromTheLastEndOrTheFirstBeginning(t *testing.T) {
	tr := NewTracker()
	s, other := tr.Series("a", "x", t0), tr.Series("a", "y", t0)
	look := func(s *Series, at time.Duration, open int, silence time.Duration) {
		t.Helper()
		if r := atTime(s, at); r.Open != open || r.Silence != silence {
			t.Errorf("after %s: %d open, silent for %s; want %d, %s", at, r.Open, r.Silence, open, silence)
		}
	}
	look(s, 0, 0, 0)
	s.Begin(0)
	look(s, time.Second, 1, 0) // noted now: a beginning knows no time
	look(s, 3*time.Second, 1, 2*time.Second)
	look(other, 3*time.Second, 0, 0)
	s.Begin(0)
	look(s, 4*time.Second, 2, 3*time.Second)
	s.End(t0.Add(5*time.Second), Success, time.Second)
	look(s, 6*time.Second, 1, time.Second)
	look(s, 4*time.Second, 1, 0) // a clock behind the others'
	s.End(t0.Add(7*time.Second), Ignored, 0)
	look(s, 8*time.Second, 0, 0)
	s.Begin(0)
	look(s, time.Minute, 1, 0)
	look(s, time.Minute+time.Second, 1, time.Second)
}

func atTime(s *Series, d time.Duration) Reading { return at(s, t0.Add(d)) }

func TestLatencyIsLearntByTheGapSinceTheLastSample(t *testing.T) {
	for _, c := range []struct {
		name string
		gap  time.Duration
		want float64 // of 1000, after a sample of 100
	}{
		{"at once", 0, 1000 - learnGain*900},
		{"a moment later", 200 * ms, 1000 - learnGain*900},
		{"after a silence", time.Second, 100 + 900/2.718281828459045},
		{"after a long one", time.Minute, 1000 - learnCap*900},
	} {
		var a Average
		a.Learn(t0, 1000)
		near(t, "first sample", a.value, 1000)
		a.Learn(t0.Add(c.gap), 100)
		near(t, c.name, a.value, c.want)
	}
}
