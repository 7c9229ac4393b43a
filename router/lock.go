package router

import (
	"time"

	"junction/state"
)

// lock is what an unknown outcome of a conditional attempt leaves: the hop may
// go on only under the same key, with the same arguments, where the ledger is
// the same, and while that ledger keeps its keys.
type lock struct {
	name    string // of the ledger; "": none
	keeps   time.Duration
	since   time.Time      // of the first unknown intent
	args    string         // hash of the tool's arguments, where this run sent them
	unknown []state.Record // attempts that may have executed, oldest first
}

func (l *lock) held() bool { return l.name != "" }

// add takes in another attempt that may have executed.
func (l *lock) add(rec state.Record, args string) {
	if l.name == "" {
		l.name, l.keeps, l.since, l.args = rec.Ledger, rec.Keeps, rec.Started, args
	}
	l.unknown = append(l.unknown, rec)
}

// patience is the end of the time within which the ledger must be reached.
func (l *lock) patience(maximum time.Duration) time.Time { return l.since.Add(maximum) }

// last is the attempt a person is asked about: all of them went out under one
// key, so one answer settles them.
func (l *lock) last() []state.Record { return l.unknown[len(l.unknown)-1:] }

// skew is how far the clocks of two workers may lie apart before the age of an
// intent cannot be told.
const skew = time.Minute

// forgotten reports that the ledger may have dropped the key, as far as can be
// told: a clock that stands well before the intent vouches for nothing.
func (l *lock) forgotten(now time.Time) bool {
	age := now.Sub(l.since)
	return l.held() && (age >= l.keeps || age < -skew)
}
