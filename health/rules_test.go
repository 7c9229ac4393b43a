package health

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestAverageFollowsTheLastCallsAndForgets(t *testing.T) {
	var a Average
	near(t, "without a sample", a.At(t0, 0.7), 0.7)
	a.Add(t0, 0, 1)
	near(t, "first sample against a start", a.At(t0, 1), 1-averageGain)

	var b Average
	b.Add(t0, 200, math.NaN())
	near(t, "first sample for itself", b.At(t0, 0), 200)
	b.Add(t0, 100, math.NaN())
	near(t, "a second at once moves it by the gain", b.At(t0, 0), 200-averageGain*100)
	b.Add(t0.Add(time.Hour), 0, math.NaN())
	near(t, "one after an hour moves it by half", b.At(t0.Add(time.Hour), 0), 185.0/2)
	near(t, "after a time constant two fifths of the distance to rest are left", b.At(t0.Add(time.Hour+averageMemory), 0), 185.0/2*0.4096)
	if got := b.At(t0.Add(2*time.Hour), 42); math.Abs(got-42) > 0.001 {
		t.Errorf("an hour later %v is left, want the rest, 42", got)
	}
	near(t, "a clock that went back does not extrapolate", b.At(t0, 0), 185.0/2)
}

func TestWindowForgetsWhatLeftIt(t *testing.T) {
	w := NewWindow(errorSlots, errorWidth)
	for range 3 {
		w.Add(t0, false, 10*time.Millisecond)
	}
	w.Add(t0, true, 0)
	for _, c := range []struct {
		name            string
		at              time.Duration
		calls, failures int
	}{
		{"at once", 0, 4, 1},
		{"in its last slot", 9 * errorWidth, 4, 1},
		{"after five minutes", 10 * errorWidth, 0, 0},
		{"before it began", -errorWidth, 0, 0},
	} {
		if calls, failures := w.Count(t0.Add(c.at)); calls != c.calls || failures != c.failures {
			t.Errorf("%s: %d calls, %d failures; want %d, %d", c.name, calls, failures, c.calls, c.failures)
		}
	}
	w.Add(t0.Add(10*errorWidth), true, 0) // takes over the first slot
	if calls, failures := w.Count(t0.Add(10 * errorWidth)); calls != 1 || failures != 1 {
		t.Errorf("a reused slot holds %d calls, %d failures; want 1, 1", calls, failures)
	}
}

func TestWindowP95(t *testing.T) {
	w := NewWindow(errorSlots, errorWidth)
	if got := w.P95(t0); got != 0 {
		t.Errorf("without a sample %s, want 0", got)
	}
	for i := range 100 {
		w.Add(t0, false, time.Duration(i+1)*10*time.Millisecond)
	}
	if got := w.P95(t0); got < 950*time.Millisecond || got > 950*time.Millisecond*5/4 {
		t.Errorf("P95 of 10 ms … 1 s = %s, want 950 ms up to a bin more", got)
	}
	w.Add(t0, false, time.Hour)
	for range 10000 {
		w.Add(t0, false, 0)
	}
	if got := w.P95(t0); got != time.Millisecond {
		t.Errorf("P95 of mostly nothing = %s, want the first bin, 1ms", got)
	}
}

func TestUptimeIsAMeanOverHours(t *testing.T) {
	w := NewWindow(uptimeSlots, uptimeWidth)
	near(t, "without calls", w.Share(t0), 1)
	for range 1000 {
		w.Add(t0, false, time.Millisecond)
	}
	w.Add(t0.Add(time.Hour), true, 0)
	near(t, "an hour up with many calls, one down with a single call", w.Share(t0.Add(time.Hour)), 0.5)
	near(t, "the good hour has left after a day", w.Share(t0.Add(24*time.Hour)), 0)
	near(t, "all has left", w.Share(t0.Add(26*time.Hour)), 1)
}

func TestEjectionGrowsIsCappedAndEndsWithSuccess(t *testing.T) {
	var e Ejection
	e.Failure(t0)
	e.Failure(t0)
	e.Success(t0)
	e.Failure(t0)
	e.Failure(t0)
	if !e.Until().IsZero() {
		t.Fatal("failures that are not in a row ejected the server")
	}
	now := t0
	for i, want := range []time.Duration{5, 10, 20, 40, 80, 120, 120} {
		e.Failure(now)
		if got := e.Until().Sub(now); got != want*time.Second {
			t.Errorf("ejection %d lasts %s, want %s", i+1, got, want*time.Second)
		}
		e.Failure(now.Add(time.Second)) // was in flight: does not lengthen it
		now = e.Until()
	}
	e.Failure(now)
	e.Success(now.Add(time.Second))
	if got := e.Until(); got != now.Add(time.Second) {
		t.Errorf("a success during an ejection ends it at %s, want at once", got.Sub(now))
	}
	later := e.Until().Add(ejectForget + time.Second)
	for range ejectAfter {
		e.Failure(later)
	}
	if got := e.Until().Sub(later); got != ejectFirst {
		t.Errorf("after a long healthy time an ejection lasts %s, want %s", got, ejectFirst)
	}
}

func TestRamp(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		want float64
	}{
		{"before it came", -time.Second, 0.1}, {"at once", 0, 0.1}, {"half way", 5 * time.Second, 0.55},
		{"at the end", 10 * time.Second, 1}, {"long after", time.Hour, 1},
	} {
		near(t, c.name, Ramp(t0.Add(c.age), t0), c.want)
	}
	near(t, "always there", Ramp(t0, time.Time{}), 1)
}

func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name   string
		scores []float64 // a minute apart
		want   float64   // at the last one
	}{
		{"a steady score", []float64{0.9, 0.9, 0.9}, 1},
		{"a fall of exactly 15 %", []float64{1, 0.85}, 1},
		{"a fall of more", []float64{1, 0.84}, 0.5},
		{"a fall in small steps", []float64{1, 0.95, 0.9, 0.84}, 0.5},
		{"a fall slower than the window", []float64{1, 0.97, 0.94, 0.91, 0.89, 0.87, 0.85}, 1},
		{"a rise", []float64{0.2, 1}, 1},
		{"a second fall is not stacked", []float64{1, 0.8, 0.4}, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Drift
			now := t0
			for _, s := range c.scores {
				now = now.Add(time.Minute)
				d.Observe(now, s)
			}
			near(t, "factor", d.Factor(now), c.want)
			near(t, "factor after ten minutes", d.Factor(now.Add(driftFor)), 1)
		})
	}
}

func TestMedianAgreesWithSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(r.IntN(10))
		}
		sorted := slices.Clone(xs)
		slices.Sort(sorted)
		want := 0.0
		if n > 0 {
			want = sorted[(n-1)/2]
		}
		near(t, "median", median(xs), want)
	}
}
