package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"junction/state"
)

func TestClockThatStepsBackProlongsALeaseByItsTimeAtMost(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := storeAt(t, filepath.Join(t.TempDir(), "state.db"), &Options{Now: func() time.Time { return now }})
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), "t", "worker", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Hour)
	if err := s.PutSession(t.Context(), l, state.Session{ID: "s"}); err != nil {
		t.Fatalf("the holder, after the step: %v", err)
	}
	var busy *state.BusyError
	if _, err := s.Acquire(t.Context(), "t", "other", time.Second); !errors.As(err, &busy) || busy.Remaining != 10*time.Second {
		t.Fatalf("error is %v, want busy for the lease's whole time", err)
	}
	now = now.Add(10 * time.Second)
	if _, err := s.Acquire(t.Context(), "t", "other", time.Second); err != nil {
		t.Errorf("the lease lives on after its time: %v", err)
	}
}

func TestRenewalAfterAClockStepStartsTheTimeAnew(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := storeAt(t, filepath.Join(t.TempDir(), "state.db"), &Options{Now: func() time.Time { return now }})
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), "t", "worker", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Hour)
	if _, err := s.Renew(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	now = now.Add(11 * time.Second)
	if _, err := s.Acquire(t.Context(), "t", "other", time.Second); err != nil {
		t.Errorf("a dead worker's lease outlived its time: %v", err)
	}
}

func TestOnlyWhatIsKnownToHaveEndedIsGone(t *testing.T) {
	self := thisProcess()
	if self.world == "" {
		t.Skip("this system does not let processes be told apart")
	}
	never := process{pid: 1 << 30, started: "1", world: self.world} // above every pid_max
	for name, c := range map[string]struct {
		p    process
		want bool
	}{
		"ourselves":              {self, false},
		"a pid nobody has":       {never, true},
		"our pid, started later": {process{self.pid, self.started + "0", self.world}, true},
		"another boot":           {process{never.pid, "1", "another boot"}, false},
		"no process known":       {process{}, false},
		"nothing but a pid":      {process{pid: never.pid}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.p.gone(self); got != c.want {
				t.Errorf("gone is %t, want %t", got, c.want)
			}
		})
	}
}
