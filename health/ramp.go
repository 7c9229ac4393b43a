package health

import "time"

const (
	rampFrom = 0.1 // share of its weight a server starts with
	rampFor  = 10 * time.Second
)

// Ramp is the slow start of a newcomer, or of a server that returns from an
// ejection: its weight grows from a tenth to the whole over ten seconds since
// it came. A zero since is a server that was always there.
func Ramp(now, since time.Time) float64 {
	if since.IsZero() {
		return 1
	}
	return rampAt(now.Sub(since))
}

func rampAt(age time.Duration) float64 {
	switch {
	case age >= rampFor:
		return 1
	case age <= 0:
		return rampFrom
	}
	return rampFrom + (1-rampFrom)*float64(age)/float64(rampFor)
}
