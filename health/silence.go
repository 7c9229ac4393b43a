package health

import (
	"sync/atomic"
	"time"
)

// silence watches how long the calls of a series go without one of them ending. A
// server that gets stuck is known by it at once, rather than when its first slow
// answer is in. It needs no clock: when the first call of several begins is noted by
// whoever reads next, and a decision reads right before each beginning.
type silence struct {
	open  atomic.Int64 // calls under way
	since atomic.Int64 // when the last one ended or the first began, since the epoch; never: to be noted
}

func (s *silence) begin() {
	if s.open.Add(1) == 1 {
		s.since.Store(never)
	}
}

func (s *silence) end(at time.Duration) {
	s.open.Add(-1)
	s.since.Store(int64(at))
}

// read returns the calls under way and for how long none of them has ended.
func (s *silence) read(at time.Duration) (open int, lasts time.Duration) {
	n := s.open.Load()
	if n <= 0 {
		return 0, 0
	}
	since := s.since.Load()
	if since == never {
		s.since.CompareAndSwap(never, int64(at))
		return int(n), 0
	}
	return int(n), max(at-time.Duration(since), 0)
}
