package health

import (
	"math"
	"time"
)

// Average follows a quantity: each sample moves it by at least Gain of the
// distance, and by more the longer ago the last one was, so that an old opinion
// gives way to a new fact. Left alone it forgets (see [Average.At]).
type Average struct {
	value float64
	last  time.Time // zero: no sample yet
}

const (
	// averageGain weighs one sample among frequent ones: about the last ten count.
	averageGain = 0.15
	// averageCap weighs one sample after a long silence: it alone is no verdict.
	averageCap = 0.5
	// averageMemory is the time constant with which an average decays.
	averageMemory = 7500 * time.Millisecond

	// The same of latency (see [Average.Learn]).
	learnGain   = 0.25
	learnCap    = 0.95
	learnMemory = time.Second
)

// Add takes a sample. start is where the average stands before its first
// sample; NaN lets the first sample stand for itself.
func (a *Average) Add(now time.Time, x, start float64) {
	if a.last.IsZero() {
		a.last = now
		if math.IsNaN(start) {
			a.value = x
			return
		}
		a.value = start + averageGain*(x-start)
		return
	}
	gain := 1 - decay(now.Sub(a.last))
	gain = min(max(gain, averageGain), averageCap)
	a.value += gain * (x - a.value)
	a.last = now
}

// Learn takes a sample of latency. It counts for more than others do: where a server
// gets few calls, as a slow one does, each of them has to tell, both that it is slow
// and that it no longer is.
func (a *Average) Learn(now time.Time, x float64) {
	gain := 1.0
	if !a.last.IsZero() {
		gain = 1 - math.Exp(-float64(now.Sub(a.last))/float64(learnMemory))
		gain = min(max(gain, learnGain), learnCap)
	}
	a.value += gain * (x - a.value)
	a.last = now
}

// Known reports whether there was a sample.
func (a *Average) Known() bool { return !a.last.IsZero() }

// At returns the average at now. With no sample it is rest; with samples it
// moves from their average back to rest as they age.
func (a *Average) At(now time.Time, rest float64) float64 {
	if a.last.IsZero() {
		return rest
	}
	return rest + (a.value-rest)*decay(now.Sub(a.last))
}

// decay is how much of an average is left after d without a sample, in (0, 1]:
// (1 + x/4)⁻⁴, which falls like e⁻ˣ where it matters and is a few multiplications
// in the one place that runs for every candidate of every decision.
func decay(d time.Duration) float64 {
	if d <= 0 {
		return 1
	}
	x := 1 + float64(d)/float64(4*averageMemory)
	x *= x
	return 1 / (x * x)
}
