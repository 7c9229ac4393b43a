package router_test

import (
	"fmt"
	"testing"
	"time"

	"junction/health"
	"junction/router"
)

func TestCandidatesAreDecidedAmongAsInAHop(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tracker := health.NewTracker()
	var servers []*router.Server
	for i := range 3 {
		servers = append(servers, &router.Server{ID: fmt.Sprint(i), MaxConcurrent: 2})
	}
	c := router.NewCandidates(servers, "work", tracker, now)
	shares := func(by router.Choosing, tried []int, out func(int) bool) (counts [4]int) {
		for seed := range uint64(3000) {
			i, _ := c.Pick(by, seed, now, tried, out)
			counts[i+1]++
		}
		return counts
	}
	if got := shares(router.Choosing{}, nil, nil); got[0] != 0 || min(got[1], got[2], got[3]) < 900 {
		t.Errorf("shares of equals: %v", got)
	}
	if got := shares(router.Choosing{}, []int{0}, func(i int) bool { return i == 1 }); got != [4]int{0, 0, 0, 3000} {
		t.Errorf("one tried, one away: %v", got)
	}
	if i, repeated := c.Pick(router.Choosing{}, 1, now, []int{0}, func(i int) bool { return i > 0 }); i != 0 || !repeated {
		t.Errorf("only the tried one is left: %d, %v", i, repeated)
	}
	for i := range 3 {
		for c.Series(i).Begin(2) {
		}
	}
	if i, _ := c.Pick(router.Choosing{}, 1, now, nil, nil); i != -1 {
		t.Errorf("all are at their declared concurrency, and %d was picked", i)
	}
}

func TestLeastLoadedOfTwoSparesWhoIsBusy(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	servers := []*router.Server{{ID: "busy", MaxConcurrent: 8}, {ID: "idle", MaxConcurrent: 8}}
	c := router.NewCandidates(servers, "work", health.NewTracker(), now)
	for range 4 {
		c.Series(0).Begin(0)
	}
	busy := 0
	by := router.Choosing{Score: even{}, Picker: router.LeastLoaded{}}
	for seed := range uint64(4000) {
		if i, _ := c.Pick(by, seed, now, nil, nil); i == 0 {
			busy++
		}
	}
	// Only when both draws are of the busy one: a quarter.
	if busy < 900 || busy > 1100 {
		t.Errorf("the busy one was picked %d times of 4000, want about 1000", busy)
	}
}

// even scores everybody alike.
type even struct{}

func (even) Name() string  { return "even" }
func (even) Windows() bool { return false }
func (even) Rate(pool []health.Member, out, _ []float64) {
	for i := range pool {
		out[i] = 1
	}
}
func (even) TermNames() []string                                { return nil }
func (even) Terms([]health.Member, []int, []float64, []float64) {}
