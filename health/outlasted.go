package health

import "time"

// Outlasted counts a call that was given up after d, since another server had
// answered: no failure, but a latency of d at least. It counts where that is above
// what the server is thought to take, else it says nothing.
func (s *Series) Outlasted(now time.Time, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latency.Known() && float64(d) <= s.latency.value {
		return
	}
	s.latency.Learn(now, float64(max(d, 1)))
	s.publish(now, false)
}
