package health

import (
	"testing"
	"time"
)

const hold = 30 * time.Second

func TestAProbesVerdictSaysWhetherThereIsAnAnswerAndNoMore(t *testing.T) {
	s := seen(t, t0, Success, Success)
	before := at(s, t0)
	s.Probed(t0, Verdict{Well: true, Vouches: true})
	s.Probed(t0, Verdict{})
	after := at(s, t0)
	if after.Latency != before.Latency || after.Success != before.Success || after.P95 != before.P95 || after.Ejected {
		t.Errorf("two probes made of %+v\n%+v", before, after)
	}
	s.Refresh(t0.Add(time.Second))
	if r := at(s, t0.Add(time.Second)); r.Calls != 2 || r.ErrorRate != 0 {
		t.Errorf("%d calls, %v of them failed; want the two that were made", r.Calls, r.ErrorRate)
	}
	near(t, "uptime of two calls and two probes, one of which failed", at(s, t0.Add(time.Second)).Uptime, 0.75)
}

func TestAHeldServerIsOutUntilSomethingSucceeds(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  func(s *Series, now time.Time)
		out   bool
		after time.Duration
	}{
		{"nothing happens", func(*Series, time.Time) {}, true, hold - 1},
		{"nobody holds it any more", func(*Series, time.Time) {}, false, hold},
		{"it is held again", func(s *Series, now time.Time) { s.Probed(now, Verdict{Hold: 2 * hold}) }, true, hold},
		{"its next probe is late", func(s *Series, now time.Time) { s.Hold(now, 2*hold) }, true, hold},
		{"its next probe was late before a call succeeded", func(s *Series, now time.Time) { s.Observe(now, Success, ms); s.Hold(now, 2*hold) }, false, 0},
		{"a shorter hold follows", func(s *Series, now time.Time) { s.Probed(now, Verdict{Hold: 1}) }, true, hold - 1},
		{"a call in flight fails", func(s *Series, now time.Time) { s.Observe(now, Failure, 0) }, true, hold - 1},
		{"a call succeeds", func(s *Series, now time.Time) { s.Observe(now, Success, ms) }, false, 0},
		{"a tool answers its own error", func(s *Series, now time.Time) { s.Observe(now, ToolError, ms) }, false, 0},
		{"a probe succeeds", func(s *Series, now time.Time) { s.Probed(now, Verdict{Well: true, Vouches: true}) }, false, 0},
		{"a probe is well that vouches for nothing", func(s *Series, now time.Time) { s.Probed(now, Verdict{Well: true}) }, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := seen(t, t0)
			s.Probed(t0, Verdict{Hold: hold})
			c.then(s, t0)
			r := at(s, t0.Add(c.after))
			if r.Ejected != c.out {
				t.Errorf("ejected %t after %s, want %t", r.Ejected, c.after, c.out)
			}
			if !r.Ejected && r.Ramp != rampFrom {
				t.Errorf("it returns with %v of its weight, want slow start", r.Ramp)
			}
		})
	}
}

func TestAProbeEndsAnEjectionByCallsOnceUntilACallSucceeds(t *testing.T) {
	s, now := seen(t, t0, Failure, Failure, Failure), t0
	well := Verdict{Well: true, Vouches: true}
	if s.Probed(now, well); at(s, now).Ejected {
		t.Fatal("a probe saw it well, and it is still out")
	}
	for range 3 {
		s.Observe(now, Failure, 0)
	}
	if s.Probed(now, well); !at(s, now).Ejected {
		t.Fatal("calls fail whatever the probe says, and it was believed again")
	}
	s.Probed(now, Verdict{Hold: hold})
	if s.Probed(now, well); at(s, now).Ejected {
		t.Fatal("what probes brought about does not end with a probe")
	}
	s.Observe(now, Success, ms)
	for range 3 {
		s.Observe(now, Failure, 0)
	}
	if s.Probed(now, well); at(s, now).Ejected {
		t.Fatal("a call has succeeded since, and the probe is not believed")
	}
}

func TestWhenACallLastSucceeded(t *testing.T) {
	s := seen(t, t0, Success)
	later := t0.Add(time.Second)
	s.Observe(later, ToolError, ms)
	s.Observe(later, Failure, 0)
	s.Probed(later, Verdict{Well: true, Vouches: true})
	if !s.Worked().Equal(t0) {
		t.Errorf("worked at %s, want %s", s.Worked(), t0)
	}
	if s := seen(t, t0, Failure); !s.Worked().IsZero() {
		t.Errorf("a call that failed worked at %s", s.Worked())
	}
}
