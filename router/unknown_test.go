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

// crashed runs the call until it has reached its server and then forgets the
// worker: the intent is durable, its outcome is not.
func crashed(t *testing.T, r *router.Router, f *fleet, book *ledgerBook) {
	t.Helper()
	ctx, _ := task{book: book}.context(t)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	restore := map[string]reply{}
	for id, k := range f.by {
		restore[id] = k.answer
		k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			book.fail = errors.New("the process is dead")
			return nil, &router.CallError{Code: router.Transport, Execution: state.Unknown}
		}
	}
	if _, err := r.Do(ctx, work); !errors.Is(err, book.fail) {
		t.Fatalf("the crash ended with %v", err)
	}
	book.fail = nil
	for id, k := range f.by {
		k.answer = restore[id]
	}
	if rs, _ := book.Records(t.Context(), state.RecordFilter{}); len(rs) != 1 || rs[0].Status != state.CallOpen {
		t.Fatalf("after the crash the journal holds %v, want one open intent", statuses(rs))
	}
}

func TestAfterACrashAConditionalHopGoesOnUnderItsKey(t *testing.T) {
	f := newFleet()
	for _, id := range []string{"a", "b", "c"} {
		f.add(id, func(s *router.Server, _ *script) {
			s.Offers[0].Effect = state.Conditional
			s.Offers[0].Key = "idempotencyKey"
			s.Offers[0].Ledger.Name = map[string]string{"a": "billing", "b": "billing", "c": "other"}[id]
			s.Weight = map[string]float64{"a": 1e9}[id] // the first pick, for certain
		})
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		f.add("c2", nil) // another server must not be taken either
		ctx, _ := task{book: book, person: someone}.context(t)
		a, err := r.Do(ctx, work)
		if err != nil || (a.Server != "a" && a.Server != "b") || len(someone.asked) != 0 {
			t.Fatalf("%+v, %v; want a server of the same ledger and no question", a, err)
		}
		k1, k2 := f.calls[0].Call.Arguments["idempotencyKey"], f.calls[1].Call.Arguments["idempotencyKey"]
		if k1 == nil || k1 != k2 {
			t.Errorf("keys %v and %v, want the same", k1, k2)
		}
		rs, _ := book.Records(t.Context(), state.RecordFilter{})
		want := []string{"1 a error unknown MCP_TRANSPORT", "2 " + a.Server + " success  "}
		if got := statuses(rs); !slices.Equal(got, want) {
			t.Errorf("history %q, want %q", got, want)
		}
	})
}

func TestAKeyOlderThanTheLedgerKeepsItIsAskedAbout(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, _ *script) {
		s.Offers[0].Effect = state.Conditional
		s.Offers[0].Ledger = router.Ledger{Name: "billing", Keeps: time.Hour}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		pass(time.Hour)
		ctx, _ := task{book: book, person: someone}.context(t)
		if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || len(f.calls) != 1 {
			t.Fatalf("%v after %d calls; want a question and no second call", err, len(f.calls))
		}
		if got := someone.asked[0].choices(); !slices.Equal(got, []any{"happened", "again", "abandon"}) {
			t.Errorf("offered %v", got)
		}
	})
}

func TestALedgerThatCannotBeReachedWithinTheMaximumIsAskedAbout(t *testing.T) {
	f := newFleet().add("a", effect(state.Conditional)).add("other", effect(state.Conditional))
	f.snapshot.Servers[0].Weight = 1e9
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		f.by["a"].describe = func(context.Context) (*router.Description, error) {
			return nil, &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "connection refused"}
		}
		pass(2 * time.Second)
		ctx, _ := task{book: book, person: someone}.context(t)
		begun := time.Now()
		call := work
		call.Max = time.Minute
		if _, err := r.Do(ctx, call); !errors.Is(err, errPaused) || len(f.calls) != 1 {
			t.Fatalf("%v after calls to %v; want a question, and no call to a ledger that never saw the key", err, f.servers())
		}
		if d := time.Since(begun); d < 50*time.Second || d > time.Minute+10*time.Second {
			t.Errorf("asked after %s, want about the maximum time", d)
		}
	})
}

func TestALedgerThatComesBackWithinTheMaximumIsUsed(t *testing.T) {
	refused := router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "connection refused"}
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Conditional
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			switch {
			case n == 1:
				return nil, &router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "reset"}
			case n < 8:
				return fails(refused)(ctx, n, c)
			}
			return answers("a")(ctx, n, c)
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}, person: &person{}}.context(t)
		if a, err := r.Do(ctx, work); err != nil || a.Server != "a" {
			t.Fatalf("%v after %d calls; refusals while a ledger restarts do not count", err, len(f.calls))
		}
	})
}

func TestWorkInProgressUnderTheKeyIsWaitedFor(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Conditional
		k.answer = failsFirst(6, router.CallError{Code: router.IdempotencyConflict, HTTPStatus: 409, Execution: state.Unknown}, "a")
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}}.context(t)
		begun := time.Now()
		if _, err := r.Do(ctx, work); err != nil || len(f.calls) != 7 {
			t.Fatalf("%v after %d calls", err, len(f.calls))
		}
		if d := time.Since(begun); d < 6*250*time.Millisecond {
			t.Errorf("asked six times within %s", d)
		}
		for _, c := range f.calls {
			if keyOf(c.Call) != keyOf(f.calls[0].Call) {
				t.Error("the key changed")
			}
		}
	})
}

func TestAnotherArgumentUnderTheKeyIsNoProgress(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Conditional
		k.answer = fails(router.CallError{Code: router.IdempotencyConflict, HTTPStatus: 422, Execution: state.NotExecuted})
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		_, err := r.Do(t.Context(), work)
		if failed, ok := errors.AsType[*router.AttemptsError](err); !ok || failed.Code() != "MCP_IDEMPOTENCY_CONFLICT" || len(f.calls) != 1 {
			t.Fatalf("%v after %d calls; want a stop", err, len(f.calls))
		}
	})
}

func TestARoundThatMayHaveExecutedIsNotClosed(t *testing.T) {
	for _, e := range []state.Effect{state.Conditional, state.Unsafe} {
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = e
			k.answer = fails(router.CallError{Code: router.Cancelled, Execution: state.Unknown, Message: "cancelled over there"})
		})
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			book := &ledgerBook{}
			ctx, _ := task{book: book}.context(t)
			if _, err := r.Do(ctx, work); err == nil {
				t.Fatal("a cancelled call succeeded")
			}
			rs, _ := book.Records(t.Context(), state.RecordFilter{})
			if len(rs) != 1 || rs[0].Final {
				t.Errorf("%s: %v; the next run must find it open", e, statuses(rs))
			}
		})
	}
}

func TestServersOfALedgerThatMapDifferentlyAreNotUsed(t *testing.T) {
	f := newFleet()
	for _, id := range []string{"a", "b"} {
		f.add(id, func(s *router.Server, k *script) {
			s.Offers[0].Effect = state.Conditional
			s.Offers[0].Ledger.Name = "shared"
			s.Offers[0].With = template(t, map[string]any{"x": "${with.x}", "for": id})
			k.answer = failsFirst(1, router.CallError{Code: router.Transport, Execution: state.Unknown}, id)
		})
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}}.context(t)
		if _, err := r.Do(ctx, work); err != nil {
			t.Fatal(err)
		}
		if went := f.servers(); len(went) != 2 || went[0] != went[1] {
			t.Errorf("went to %v; another server would see other arguments under the key", went)
		}
	})
}
