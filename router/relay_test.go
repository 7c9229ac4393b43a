package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// stalled is a watcher like a terminal whose output was stopped.
type stalled struct {
	diary
	resume chan struct{}
	gaps   int
}

func (s *stalled) OnAttempt(h router.HopInfo, a router.AttemptInfo) {
	<-s.resume
	s.diary.OnAttempt(h, a)
}
func (s *stalled) OnGap(lost int) { s.gaps += lost }
func (s *stalled) OnDrift(server string, same bool) {
	s.lines = append(s.lines, fmt.Sprintf("drift %s %v", server, same))
}
func (s *stalled) OnHeldBack(server, tool string) {
	s.lines = append(s.lines, "held back "+server+" "+tool)
}

func TestAWatcherThatStallsHoldsUpNoHop(t *testing.T) {
	w := &stalled{resume: make(chan struct{})}
	r := router.NewRelay(w)
	h := router.HopInfo{Node: "n", Capability: "c", Hop: "1"}
	at := router.AttemptInfo{Attempt: 1, Server: "s"}
	r.OnAttempt(h, at)
	for i := range 100_000 { // none waits
		r.OnProgress(h, at, router.Progress{Progress: float64(i)})
	}
	r.OnDrift("s", true)
	r.OnHeldBack("s", "t")
	r.OnOutcome(h, at, router.OutcomeInfo{Status: state.CallSuccess})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed with a watcher that stands still: %v", err)
	}
	close(w.resume)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"n/c: attempt 1 at s", "n/c: 99999 of 0: ", "drift s true", "held back s t", "n/c: success "}
	if !slices.Equal(w.lines, want) || w.gaps != 0 {
		t.Errorf("told %q, %d gaps; want %q", w.lines, w.gaps, want)
	}
}

func TestAWatcherIsToldThatItMissedSomething(t *testing.T) {
	w := &stalled{resume: make(chan struct{})}
	r := router.NewRelay(w)
	const many = 5000
	for i := range many {
		r.OnAttempt(router.HopInfo{Node: "n", Hop: fmt.Sprint(i)}, router.AttemptInfo{Attempt: i})
	}
	close(w.resume)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.lines)+w.gaps != many || w.gaps == 0 || len(w.lines) < 1024 {
		t.Errorf("%d told and %d missed of %d", len(w.lines), w.gaps, many)
	}
	r.OnAttempt(router.HopInfo{}, router.AttemptInfo{}) // after its end: nothing, and no panic
}
