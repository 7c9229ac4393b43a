package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stalled is a logger's handler whose reader has stopped until let is closed.
type stalled struct {
	slog.Handler
	let chan struct{}

	mu   sync.Mutex
	told []string
}

func (s *stalled) Enabled(context.Context, slog.Level) bool { return true }

func (s *stalled) Handle(_ context.Context, r slog.Record) error {
	<-s.let
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, r.Message)
	return nil
}

func TestALogThatIsNotReadHoldsUpNoRequestAndIsToldAllInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &stalled{let: make(chan struct{})}
		l, s := lineTo(t, &LineOptions{Logger: slog.New(h)})
		s.refuses(always(refusal))
		a := begin(t, l, "a", false)
		synctest.Wait() // one attempt has failed
		s.refuses(nil)
		s.after(0).of("a").answer <- says("a")
		a.answered(t)
		s.session(1).die("crashed")
		b := begin(t, l, "b", false)
		s.after(1).of("b").answer <- says("b")
		b.answered(t)
		if len(h.told) != 0 {
			t.Fatalf("told were %v", h.told)
		}
		close(h.let)
		synctest.Wait()
		want := []string{"a server cannot be reached", "a server is connected", "a server is away", "a server is connected"}
		if !slices.Equal(h.told, want) {
			t.Errorf("told were %v", h.told)
		}
	})
}

func TestALogThatIsNotReadIsBoundedAndSaysHowMuchIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &stalled{let: make(chan struct{})}
		l, s := lineTo(t, &LineOptions{Logger: slog.New(h)})
		s.refuses(always(refusal))
		begin(t, l, "a", false)
		pass(time.Hour)
		close(h.let)
		synctest.Wait()
		if n := len(h.told); n < mostUntold || n > mostUntold+2 || h.told[n-1] != "what happened to a server was left out here: the log was not read" {
			t.Errorf("%d were told, the last: %s", n, fmt.Sprint(h.told[n-1:]))
		}
		l.Close(t.Context())
	})
}
