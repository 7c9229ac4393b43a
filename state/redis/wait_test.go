package redis

import (
	"testing"
	"time"
)

func TestWaitsGrowToABoundAndDiffer(t *testing.T) {
	t.Parallel()
	var tr tries
	for attempt, bound := range map[int]time.Duration{1: firstWait, 2: 2 * firstWait, 4: 8 * firstWait, 7: mostWait, 1000: mostWait} {
		var longest time.Duration
		for range 200 {
			w := tr.wait(attempt)
			if w < 0 || w >= bound {
				t.Fatalf("after try %d it waits %v, want less than %v", attempt, w, bound)
			}
			longest = max(longest, w)
		}
		if longest < bound/2 { // 2⁻²⁰⁰ by chance
			t.Errorf("after try %d it never waits longer than %v of %v", attempt, longest, bound)
		}
	}
}
