package health

import (
	"sync"
	"testing"
	"time"
)

func seen(t *testing.T, now time.Time, outcomes ...Outcome) *Series {
	t.Helper()
	s := NewTracker().Series("a", "review", now)
	for _, o := range outcomes {
		if !s.Begin(0) {
			t.Fatal("an unlimited server refused a call")
		}
		s.End(now, o, 100*ms)
	}
	return s
}

func at(s *Series, now time.Time) Reading {
	var r Reading
	s.Read(now, &r)
	return r
}

func TestWhatAnOutcomeSaysOfTheServer(t *testing.T) {
	for _, c := range []struct {
		name       string
		outcome    Outcome
		success    float64
		toolErrors float64
		latency    time.Duration
		calls      int
	}{
		{"a success", Success, 1, 0, 100 * ms, 1},
		{"a tool's own error is no failure and no latency", ToolError, 1, averageGain, 0, 1},
		{"a failure feeds no latency", Failure, 1 - averageGain, 0, 0, 1},
		{"a caller's fault says nothing", Ignored, 1, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := at(seen(t, t0, c.outcome), t0)
			near(t, "success", r.Success, c.success)
			near(t, "tool errors", r.ToolErrors, c.toolErrors)
			if r.Latency != c.latency || r.Calls != c.calls || r.InFlight != 0 {
				t.Errorf("latency %s, calls %d, in flight %d; want %s, %d, 0", r.Latency, r.Calls, r.InFlight, c.latency, c.calls)
			}
		})
	}
}

func TestThreeFailuresInARowEject(t *testing.T) {
	s := seen(t, t0, Failure, Failure)
	if at(s, t0).Ejected {
		t.Fatal("ejected after two")
	}
	s.Observe(t0, Failure, 0)
	if !at(s, t0).Ejected {
		t.Fatal("not ejected after three")
	}
	back := t0.Add(ejectFirst)
	r := at(s, back)
	if r.Ejected {
		t.Fatal("still ejected when its time is over")
	}
	near(t, "a returner starts slowly", r.Ramp, rampFrom)
	near(t, "and gets all of its weight", at(s, back.Add(rampFor)).Ramp, 1)
}

func TestANewcomerStartsSlowlyAndThePoolAtTheStartDoesNot(t *testing.T) {
	tr := NewTracker()
	near(t, "first", at(tr.Series("a", "x", t0), t0).Ramp, 1)
	near(t, "started together", at(tr.Series("b", "x", t0.Add(time.Second)), t0.Add(time.Second)).Ramp, 1)
	later := t0.Add(time.Hour)
	near(t, "newcomer", at(tr.Series("c", "x", later), later).Ramp, rampFrom)
	near(t, "a known server's other capability", at(tr.Series("a", "y", later), later).Ramp, 1)
}

func TestNoServerStarves(t *testing.T) {
	s := seen(t, t0, Failure, Success, Failure, Success, Failure, ToolError)
	r := at(s, t0.Add(10*averageMemory))
	if r.Success < 0.99 || r.ToolErrors > 0.01 || r.Memory > 0.01 || r.Ejected {
		t.Errorf("a bad name outlived its evidence: %+v", r)
	}
}

func TestLoadIsSharedByAServersCapabilitiesAndBounded(t *testing.T) {
	tr := NewTracker()
	a, b := tr.Series("s", "x", t0), tr.Series("s", "y", t0)
	if !a.Begin(2) || !b.Begin(2) || a.Begin(2) {
		t.Fatal("two of two calls must begin, a third must not")
	}
	if n := at(b, t0).InFlight; n != 2 {
		t.Errorf("in flight %d, want 2", n)
	}
	a.End(t0, Ignored, 0)
	if !b.Begin(2) {
		t.Error("a call ended and its place stayed taken")
	}
}

func TestRest(t *testing.T) {
	s := seen(t, t0)
	s.Rest(t0, t0.Add(2*time.Second))
	s.Rest(t0, t0.Add(time.Second)) // a shorter one does not shorten it
	if !at(s, t0.Add(1500*ms)).Resting || at(s, t0.Add(2*time.Second)).Resting {
		t.Errorf("rests until %s, want two seconds", s.RestsUntil().Sub(t0))
	}
}

func TestWindowsAreRefreshedWithoutCalls(t *testing.T) {
	s := seen(t, t0, Failure)
	later := t0.Add(6 * time.Minute)
	near(t, "as last counted", at(s, later).ErrorRate, 1)
	s.Refresh(later)
	near(t, "counted anew", at(s, later).ErrorRate, 0)
}

func TestErrorsLowerTheDriftFactorOnlyWithEvidence(t *testing.T) {
	s := seen(t, t0, Failure, Failure)
	near(t, "two failures of a quiet server", at(s, t0).Drift, 1)
	for i := range 40 {
		o := Success
		if i%2 == 0 {
			o = Failure
		}
		s.Observe(t0.Add(time.Duration(i)*time.Second), o, 100*ms)
	}
	near(t, "half of forty", at(s, t0.Add(40*time.Second)).Drift, driftPenalty)
}

func TestSeriesUnderConcurrentUse(t *testing.T) {
	s := seen(t, t0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 500 {
				now := t0.Add(time.Duration(n) * ms)
				if s.Begin(4) {
					s.End(now, Outcome(1+(i+n)%3), time.Duration(n)*ms)
				}
				if r := at(s, now); r.Success < 0 || r.Success > 1 {
					t.Errorf("success %v", r.Success)
				}
				s.Refresh(now)
			}
		})
	}
	wg.Wait()
	if n := at(s, t0).InFlight; n != 0 {
		t.Errorf("in flight %d after all ended", n)
	}
}

func TestKeepForgetsServersThatLeft(t *testing.T) {
	tr := NewTracker()
	old := tr.Series("gone", "x", t0)
	tr.Series("here", "x", t0)
	tr.Keep(func(server string) bool { return server == "here" })
	if tr.Series("gone", "x", t0) == old {
		t.Error("a server that left is still known")
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	s := seen(t, t0, Success, Failure)
	if n := testing.AllocsPerRun(100, func() { at(s, t0) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkSeriesEnd(b *testing.B) {
	s := NewTracker().Series("a", "x", t0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Begin(0)
		s.End(t0.Add(time.Duration(i)*ms), Success, 10*ms)
	}
}
