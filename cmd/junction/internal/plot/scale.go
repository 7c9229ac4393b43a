package plot

import (
	"math"
	"strconv"
)

// scale maps values to pixels, from bottom (low) to top (high).
type scale struct {
	low, high float64
	log       bool
	from, to  float64 // pixels of low and of high
}

// at is a value's place; values outside are drawn at the border.
func (s scale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	part := (v - s.low) / (s.high - s.low)
	if s.log {
		part = math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return s.from + part*(s.to-s.from)
}

// linear is a scale from 0 to a round number that is at least high.
func linear(high, from, to float64) (scale, []float64) {
	step := roundUp(max(high, 1e-9) / 4)
	top := math.Ceil(high/step-1e-9) * step
	if top <= 0 {
		top = step
	}
	var ticks []float64
	for i := 0; float64(i)*step <= top*(1+1e-9); i++ {
		ticks = append(ticks, float64(i)*step)
	}
	return scale{low: 0, high: top, from: from, to: to}, ticks
}

// logarithmic is a scale that holds low and high, with ticks at its bottom and at 1, 2
// and 5 of each decade, or at 1 alone where that would be too many. low is above 0.
func logarithmic(low, high, from, to float64) (scale, []float64) {
	bottom, top := roundDown(low), roundUp(high)
	if bottom >= top {
		top = bottom * 10
	}
	leads := []float64{1, 2, 5}
	if math.Log10(top/bottom) > 2.5 {
		leads = leads[:1]
	}
	ticks := []float64{bottom}
	for e := math.Floor(math.Log10(bottom)); math.Pow(10, e) <= top*(1+1e-9); e++ {
		for _, lead := range leads {
			if t := lead * math.Pow(10, e); t > bottom*(1+1e-9) && t <= top*(1+1e-9) {
				ticks = append(ticks, t)
			}
		}
	}
	return scale{low: bottom, high: top, log: true, from: from, to: to}, ticks
}

// roundUp is the next of 1, 2, 5, 10, 20, … at or above v.
func roundUp(v float64) float64 {
	e := math.Pow(10, math.Floor(math.Log10(v)))
	for _, lead := range []float64{1, 2, 5, 10} {
		if lead*e >= v*(1-1e-9) {
			return lead * e
		}
	}
	return 10 * e
}

// roundDown is the next of them at or below v.
func roundDown(v float64) float64 {
	e := math.Pow(10, math.Floor(math.Log10(v)))
	for _, lead := range []float64{5, 2} {
		if lead*e <= v*(1+1e-9) {
			return lead * e
		}
	}
	return e
}

// number is a tick's label.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
