package router_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// TestAnUnsafeCallCutByTheCallersDeadlineIsAskedAbout: the deadline is over, the
// question is not: only a person can say whether the call took effect.
func TestAnUnsafeCallCutByTheCallersDeadlineIsAskedAbout(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Unsafe
		k.answer = takes(time.Hour, "a")
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		ctx, _ := task{book: book, person: someone}.context(t)
		ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("the node took too long"))
		defer cancel()
		if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || len(someone.asked) != 1 {
			t.Fatalf("%v after %d questions; want the pause", err, len(someone.asked))
		}
	})
}

func TestADeadlineIsADeadlineWhereNothingIsUnknown(t *testing.T) {
	for _, e := range []state.Effect{state.Safe, state.Conditional} {
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = e
			k.answer = takes(time.Hour, "a")
		})
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			someone := &person{}
			ctx, _ := task{book: &ledgerBook{}, person: someone}.context(t)
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, err := r.Do(ctx, work); !errors.Is(err, context.DeadlineExceeded) || len(someone.asked) != 0 {
				t.Fatalf("%s: %v after %d questions", e, err, len(someone.asked))
			}
		})
	}
}

// TestNoUnsafeAttemptIsBegunAfterADrain: the drain begins while the hop waits for
// a server's description.
func TestNoUnsafeAttemptIsBegunAfterADrain(t *testing.T) {
	draining := make(chan struct{})
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Unsafe
		k.describe = func(context.Context) (*router.Description, error) {
			close(draining)
			return &router.Description{Tools: k.tools}, nil
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		ctx, _ := task{book: book, person: &person{}}.context(t)
		_, err := r.Do(state.WithDraining(ctx, draining), work)
		rs, _ := book.Records(t.Context(), state.RecordFilter{})
		if !errors.Is(err, state.ErrDraining) || len(f.calls) != 0 || len(rs) != 0 {
			t.Fatalf("%v after %d calls and the records %v", err, len(f.calls), statuses(rs))
		}
	})
}

// TestAnIntentThatCouldNotBeStoredIsKnownNotToHaveLeft: the write failed, or its
// answer was lost; the request was not sent either way, and the journal says so
// with its next operation.
func TestAnIntentThatCouldNotBeStoredIsKnownNotToHaveLeft(t *testing.T) {
	for _, e := range []state.Effect{state.Conditional, state.Unsafe} {
		f := newFleet().add("a", effect(e))
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			book := &ledgerBook{answerLost: errors.New("the store's answer was lost")}
			someone := &person{}
			ctx, journal := task{book: book, person: someone}.context(t)
			if _, err := r.Do(ctx, work); !errors.Is(err, book.answerLost) || len(f.calls) != 0 {
				t.Fatalf("%v after %d calls", err, len(f.calls))
			}
			book.answerLost = nil
			if err := book.PutRecords(t.Context(), state.Lease{}, journal.Take()); err != nil {
				t.Fatal(err)
			}
			rs, _ := book.Records(t.Context(), state.RecordFilter{})
			if want := []string{"1 a rejected not_executed "}; !slices.Equal(statuses(rs), want) {
				t.Fatalf("history %q, want %q", statuses(rs), want)
			}
			ctx, _ = task{book: book, person: someone}.context(t)
			if _, err := r.Do(ctx, work); err != nil || len(f.calls) != 1 || len(someone.asked) != 0 {
				t.Fatalf("%v after %d calls and %d questions", err, len(f.calls), len(someone.asked))
			}
		})
	}
}

// TestAClockThatStandsBeforeTheIntentVouchesForNoKey: how old the key is cannot
// be told, so the ledger may have dropped it.
func TestAClockThatStandsBeforeTheIntentVouchesForNoKey(t *testing.T) {
	f := newFleet().add("a", effect(state.Conditional))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		rs, _ := book.Records(t.Context(), state.RecordFilter{})
		rs[0].Started = rs[0].Started.Add(20 * 24 * time.Hour) // written by a clock that was put right since
		begun := time.Now()
		ctx, _ := task{book: book, person: someone, prior: rs}.context(t)
		if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || len(f.calls) != 1 {
			t.Fatalf("%v after %d calls; want a question", err, len(f.calls))
		}
		if got := someone.asked[0].choices(); !slices.Contains(got, any("again")) {
			t.Errorf("offered %v: that clock's word would keep \"again\" back for weeks", got)
		}
		someone.say = func(asked) string { return `{"choice": "again"}` }
		ctx, _ = task{book: book, person: someone, prior: rs}.context(t)
		if _, err := r.Do(ctx, work); err != nil || time.Since(begun) < 5*time.Minute || time.Since(begun) > 6*time.Minute {
			t.Fatalf("%v after %s: \"again\" waits for the maximum, no more and no less", err, time.Since(begun))
		}
	})
}

// TestALedgerThatComesBackAfterItDroppedTheKeyIsNotCalled: the hop waits for its
// ledger longer than the ledger keeps keys.
func TestALedgerThatComesBackAfterItDroppedTheKeyIsNotCalled(t *testing.T) {
	var begun time.Time
	worked := 0
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Conditional
		s.Offers[0].Ledger = router.Ledger{Name: "billing", Keeps: time.Minute}
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			switch {
			case n == 1:
				worked++
				return nil, &router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "reset"}
			case time.Since(begun) < time.Minute:
				return nil, &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "connection refused"}
			}
			worked++
			return answers("a")(ctx, n, c)
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		begun = time.Now()
		someone := &person{}
		ctx, _ := task{book: &ledgerBook{}, person: someone}.context(t)
		call := work
		call.Max = 5 * time.Minute
		if _, err := r.Do(ctx, call); !errors.Is(err, errPaused) || worked != 1 {
			t.Fatalf("%v after %d executions; want a question: the ledger may have dropped the key", err, worked)
		}
	})
}
