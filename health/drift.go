package health

import "time"

// Drift halves a server's weight for ten minutes when its score falls by more
// than 15 % of the highest it had in the last five minutes. A further fall
// while it is halved changes nothing.
type Drift struct {
	peaks [driftSlots]peak
	until time.Time
}

type peak struct {
	number int64
	score  float64
}

const (
	driftFall    = 0.15
	driftWindow  = 5 * time.Minute
	driftSlots   = 10
	driftPenalty = 0.5
	driftFor     = 10 * time.Minute
)

// Observe takes the score at now.
func (d *Drift) Observe(now time.Time, score float64) {
	const width = driftWindow / driftSlots
	number := now.UnixNano() / int64(width)
	highest := score
	for _, p := range d.peaks {
		if p.number > number-driftSlots && p.number <= number {
			highest = max(highest, p.score)
		}
	}
	p := &d.peaks[int(number%driftSlots)]
	if p.number != number {
		*p = peak{number: number}
	}
	p.score = max(p.score, score)
	if now.Before(d.until) {
		return
	}
	if score < (1-driftFall)*highest {
		d.until = now.Add(driftFor)
		// The lower score is what the next fall is measured from.
		d.peaks = [driftSlots]peak{}
	}
}

// Factor returns what the weight is multiplied with at now.
func (d *Drift) Factor(now time.Time) float64 {
	if now.Before(d.until) {
		return driftPenalty
	}
	return 1
}
