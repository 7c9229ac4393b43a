package lab

import (
	"math/rand/v2"
	"time"
)

// arrivals is a Poisson process whose rate is constant between times, or a recording.
type arrivals struct {
	chance *rand.Rand
	rates  []Rate
	at     []time.Duration
	until  time.Duration

	last float64 // s
	step int     // index of the rate in force
}

// next returns when the next call arrives; false when no more do.
func (a *arrivals) next() (time.Duration, bool) {
	if len(a.at) > 0 {
		t := a.at[0]
		a.at = a.at[1:]
		return t, t < a.until
	}
	// What is left of a unit exponential is used up at each rate in turn.
	left := a.chance.ExpFloat64()
	for ; a.step < len(a.rates); a.step++ {
		r := a.rates[a.step]
		end := a.until.Seconds()
		if a.step+1 < len(a.rates) {
			end = min(end, a.rates[a.step+1].At.Seconds())
		}
		from := max(a.last, r.At.Seconds())
		if reach := (end - from) * r.Rate; left >= reach {
			left -= max(reach, 0)
			continue
		}
		a.last = from + left/r.Rate
		return time.Duration(a.last * float64(time.Second)), true
	}
	return 0, false
}
