package health

import (
	"math"
	"time"
)

// Window counts calls, failures and latencies over the last Slots × Width of
// time, in slots that are reused, so its size is fixed.
type Window struct {
	width time.Duration
	slots []slot
}

type slot struct {
	number          int64 // which slot of time this is; another number: stale
	calls, failures uint32
	latency         [latencyBins]uint32 // of successful results
}

// Latencies are counted in bins that grow by a quarter, from 1 ms: 56 of them
// reach past four minutes, and a percentile is off by an eighth at most.
const (
	latencyBins   = 56
	latencyGrowth = 1.25
)

// NewWindow returns a window over slots spans of width each.
func NewWindow(slots int, width time.Duration) *Window {
	return &Window{width: width, slots: make([]slot, slots)}
}

// Add counts one call; latency counts when it succeeded.
func (w *Window) Add(now time.Time, failed bool, latency time.Duration) {
	s := w.at(now)
	s.calls++
	if failed {
		s.failures++
		return
	}
	s.latency[latencyBin(latency)]++
}

// AddAnswer counts an answer that says nothing of the server's speed: a tool's own
// error, or a probe's.
func (w *Window) AddAnswer(now time.Time) { w.at(now).calls++ }

func (w *Window) at(now time.Time) *slot {
	number := w.number(now)
	s := &w.slots[int(number%int64(len(w.slots)))]
	if s.number != number {
		*s = slot{number: number}
	}
	return s
}

func (w *Window) number(now time.Time) int64 { return now.UnixNano() / int64(w.width) }

// Count returns calls and failures within the window.
func (w *Window) Count(now time.Time) (calls, failures int) {
	newest := w.number(now)
	for i := range w.slots {
		if s := &w.slots[i]; w.live(s, newest) {
			calls += int(s.calls)
			failures += int(s.failures)
		}
	}
	return calls, failures
}

// Share returns the mean over the slots with calls of the share that did not
// fail, 1 when there were none: an hour with a thousand calls weighs as much as
// one with a single call, as time does.
func (w *Window) Share(now time.Time) float64 {
	newest, sum, n := w.number(now), 0.0, 0
	for i := range w.slots {
		if s := &w.slots[i]; w.live(s, newest) && s.calls > 0 {
			sum += 1 - float64(s.failures)/float64(s.calls)
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// P95 returns the 95th percentile of the latencies in the window, rounded up to
// its bin, or 0 when there are none.
func (w *Window) P95(now time.Time) time.Duration {
	newest := w.number(now)
	var bins [latencyBins]uint32
	var total uint64
	for i := range w.slots {
		s := &w.slots[i]
		if !w.live(s, newest) {
			continue
		}
		for b, n := range s.latency {
			bins[b] += n
			total += uint64(n)
		}
	}
	if total == 0 {
		return 0
	}
	rank := uint64(math.Ceil(0.95 * float64(total)))
	var seen uint64
	for b, n := range bins {
		if seen += uint64(n); seen >= rank {
			return latencyOf(b)
		}
	}
	return latencyOf(latencyBins - 1)
}

func (w *Window) live(s *slot, newest int64) bool {
	return s.number <= newest && s.number > newest-int64(len(w.slots))
}

func latencyBin(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	if ms <= 1 {
		return 0
	}
	bin := int(math.Ceil(math.Log(ms) / math.Log(latencyGrowth)))
	return min(bin, latencyBins-1)
}

// latencyOf is the upper bound of a bin.
func latencyOf(bin int) time.Duration {
	return time.Duration(math.Pow(latencyGrowth, float64(bin)) * float64(time.Millisecond))
}
