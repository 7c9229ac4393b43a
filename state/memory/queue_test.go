package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state"
	"junction/state/memory"
)

const turn = 10 * time.Second

func enqueue(t *testing.T, s *memory.Store, thread string, after time.Duration) {
	t.Helper()
	if err := s.Enqueue(t.Context(), thread, after); err != nil {
		t.Fatal(err)
	}
}

// claim takes up to n threads and checks which, and what comes next.
func claim(t *testing.T, s *memory.Store, n int, want []string, next time.Duration) []state.Claim {
	t.Helper()
	claims, wait, err := s.Claim(t.Context(), n, turn)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range claims {
		got = append(got, c.Thread)
	}
	if d := cmp.Diff(want, got); d != "" || wait != next {
		t.Fatalf("claimed %v, next in %s; want %v, %s", got, wait, want, next)
	}
	return claims
}

func TestTheQueueHandsOutWhatIsDueInTheOrderItBecameDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		claim(t, s, 5, nil, -1)
		enqueue(t, s, "later", time.Minute)
		enqueue(t, s, "b", 0)
		enqueue(t, s, "a", 0)
		<-time.After(time.Second)
		enqueue(t, s, "c", 0)
		enqueue(t, s, "b", 0) // once more: moved behind the others
		claim(t, s, 2, []string{"a", "c"}, 0)
		claim(t, s, 2, []string{"b"}, turn)
		due, later, err := s.QueueLen(t.Context())
		if err != nil || due != 0 || later != 4 {
			t.Fatalf("%d due, %d later, %v", due, later, err)
		}
	})
}

func TestATurnThatIsOverGivesTheThreadToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		enqueue(t, s, "t", 0)
		first := claim(t, s, 1, []string{"t"}, turn)
		<-time.After(turn / 2)
		kept, err := s.Extend(t.Context(), first, turn)
		if err != nil || len(kept) != 1 {
			t.Fatal(kept, err)
		}
		<-time.After(turn - time.Microsecond)
		claim(t, s, 1, nil, time.Microsecond)
		<-time.After(time.Microsecond)
		if late, err := s.Extend(t.Context(), kept, turn); err != nil || len(late) != 0 {
			t.Fatalf("a turn that was over was extended: %v, %v", late, err)
		}
		second := claim(t, s, 1, []string{"t"}, turn)
		for name, op := range map[string]func() error{
			"done":  func() error { return s.Done(t.Context(), kept[0]) },
			"defer": func() error { return s.Defer(t.Context(), kept[0], 0) },
		} {
			if err := op(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		claim(t, s, 1, nil, turn) // the claim that is over moved nothing
		if err := s.Done(t.Context(), second[0]); err != nil {
			t.Fatal(err)
		}
		claim(t, s, 1, nil, -1)
	})
}

func TestAThreadAskedForDuringItsTurnStaysQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		enqueue(t, s, "t", 0)
		first := claim(t, s, 1, []string{"t"}, turn)
		enqueue(t, s, "t", turn) // the very time at which the turn ends
		if kept, err := s.Extend(t.Context(), first, turn); err != nil || len(kept) != 0 {
			t.Fatalf("extended what was moved: %v, %v", kept, err)
		}
		if err := s.Done(t.Context(), first[0]); err != nil {
			t.Fatal(err)
		}
		<-time.After(turn)
		second := claim(t, s, 1, []string{"t"}, turn)
		enqueue(t, s, "t", 0)
		third := claim(t, s, 1, []string{"t"}, turn+time.Microsecond) // at the same time as the second
		if second[0].Until == third[0].Until {
			t.Fatal("two turns cannot be told apart")
		}
	})
}

func TestADeferredThreadComesUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		enqueue(t, s, "t", 0)
		c := claim(t, s, 1, []string{"t"}, turn)
		if err := s.Defer(t.Context(), c[0], time.Second); err != nil {
			t.Fatal(err)
		}
		claim(t, s, 1, nil, time.Second)
		<-time.After(time.Second)
		claim(t, s, 1, []string{"t"}, turn)
	})
}

func TestEachQueuedThreadWakesOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		woken := make(chan time.Duration, 3)
		begun := time.Now()
		for range cap(woken) {
			go func() {
				if err := s.WaitQueued(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
				woken <- time.Since(begun)
			}()
		}
		synctest.Wait()
		<-time.After(time.Second)
		enqueue(t, s, "a", 0)
		enqueue(t, s, "b", 0)
		enqueue(t, s, "later", time.Second) // wakes nobody
		got := []time.Duration{<-woken, <-woken, <-woken}
		if d := cmp.Diff([]time.Duration{time.Second, time.Second, time.Minute}, got); d != "" {
			t.Fatal(d)
		}
		enqueue(t, s, "c", 0)
		if err := s.WaitQueued(t.Context(), time.Hour); err != nil { // what came before the wait counts
			t.Fatal(err)
		}
		enqueue(t, s, "d", 0)
		claim(t, s, 9, []string{"a", "b", "later", "c", "d"}, turn)
		begun = time.Now()
		if err := s.WaitQueued(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Fatalf("woken after %s for what was handed out (%v)", time.Since(begun), err)
		}
	})
}

func TestTheQueueRefusesWhatMakesNoSense(t *testing.T) {
	s := memory.New(nil)
	if err := s.Enqueue(t.Context(), "", 0); err == nil {
		t.Error("queued a thread without an id")
	}
	if _, _, err := s.Claim(t.Context(), 1, 0); err == nil {
		t.Error("claimed for no time")
	}
	if _, err := s.Extend(t.Context(), nil, -time.Second); err == nil {
		t.Error("extended by less than nothing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, claimed := s.Claim(ctx, 1, turn)
	_, extended := s.Extend(ctx, nil, turn)
	_, _, counted := s.QueueLen(ctx)
	for i, err := range []error{s.Enqueue(ctx, "t", 0), claimed, extended, s.Done(ctx, state.Claim{}), s.Defer(ctx, state.Claim{}, 0), s.WaitQueued(ctx, time.Hour), counted} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("operation %d under a cancelled context: %v", i, err)
		}
	}
}

func BenchmarkQueueOf10000(b *testing.B) {
	s := memory.New(nil)
	for i := range 10_000 {
		if err := s.Enqueue(b.Context(), fmt.Sprint(i), 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		claims, _, err := s.Claim(b.Context(), 1, turn)
		if err != nil || len(claims) != 1 {
			b.Fatal(claims, err)
		}
		if err := s.Defer(b.Context(), claims[0], 0); err != nil {
			b.Fatal(err)
		}
	}
}
