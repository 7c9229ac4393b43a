package memory_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"junction/state"
	"junction/state/memory"
	"junction/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	statetest.Run(t, func(*testing.T) state.Store { return memory.New(nil) })
}

func TestQueue(t *testing.T) {
	statetest.RunQueue(t, func(*testing.T) state.Queue { return memory.New(nil) })
}

func TestLeasesRunOutOnTheStoresOwnClock(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := memory.New(&memory.Options{Now: func() time.Time { return now }})
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), "t", "w", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(10*time.Second - 1)
	if l, err = s.Renew(t.Context(), l); err != nil {
		t.Fatalf("one nanosecond before its end: %v", err)
	}
	now = now.Add(10 * time.Second)
	if _, err := s.Renew(t.Context(), l); err == nil {
		t.Fatal("renewed a lease that had run out")
	}
	if _, err := s.Acquire(t.Context(), "t", "other", time.Second); err != nil {
		t.Fatal(err)
	}
}
