package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

func TestARecordedResultIsReturnedAndNothingIsSent(t *testing.T) {
	f := newFleet().add("a", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		first, err := r.Do(ctx, work)
		if err != nil {
			t.Fatal(err)
		}
		ctx, _ = task{prior: j.Known()}.context(t)
		again, err := r.Do(ctx, work)
		if err != nil || !again.Replayed || len(f.calls) != 1 {
			t.Fatalf("%+v, %v after %d calls; want a replay after one", again, err, len(f.calls))
		}
		if by := again.Value.(map[string]any)["by"]; by != "a" || again.Server != first.Server || again.Hop != first.Hop {
			t.Errorf("replayed %+v, was %+v", again, first)
		}
	})
}

func TestTheSameHopWithOtherArgumentsSendsNothing(t *testing.T) {
	f := newFleet().add("a", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		if _, err := r.Do(ctx, work); err != nil {
			t.Fatal(err)
		}
		ctx, _ = task{prior: j.Known()}.context(t)
		other := work
		other.With = map[string]any{"x": int64(2)}
		_, err := r.Do(ctx, other)
		if _, ok := errors.AsType[*state.NondeterminismError](err); !ok || len(f.calls) != 1 {
			t.Fatalf("%v after %d calls; want a nondeterminism error after one", err, len(f.calls))
		}
	})
}

func TestAFailedHopOpensANewRoundWithFreshAttempts(t *testing.T) {
	down := router.CallError{Code: router.Transport, Execution: state.NotExecuted}
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Conditional
		k.answer = failsFirst(3, down, "a")
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		ctx, _ := task{book: book}.context(t)
		if _, err := r.Do(ctx, work); err == nil {
			t.Fatal("three refused attempts succeeded")
		}
		ctx, _ = task{book: book}.context(t)
		if _, err := r.Do(ctx, work); err != nil {
			t.Fatal(err)
		}
		if k1, k4 := keyOf(f.calls[0].Call), keyOf(f.calls[3].Call); k1 == "" || k1 != k4 {
			t.Errorf("keys %q and %q; the key outlives the round", k1, k4)
		}
		records, _ := book.Records(t.Context(), state.RecordFilter{})
		if n := len(records); n != 4 || records[3].Round != 2 || records[3].Attempt != 1 {
			t.Errorf("%v; want the first attempt of a second round", statuses(records))
		}
	})
}

func TestClocks(t *testing.T) {
	for _, c := range []struct {
		name      string
		idle, max time.Duration // of the call
		takes     time.Duration
		clock     string // that ends it; "" for an answer
		after     time.Duration
	}{
		{"the default idle clock", 0, 0, time.Hour, "idle", 30 * time.Second},
		{"a call's own idle clock", time.Second, 0, time.Hour, "idle", time.Second},
		{"only the maximum set: it is the idle clock too", 0, 10 * time.Second, time.Hour, "maximum", 10 * time.Second},
		{"an idle clock past its maximum", time.Minute, 10 * time.Second, time.Hour, "maximum", 10 * time.Second},
		{"a tool of 121 s under a longer timeout", 130 * time.Second, 0, 121 * time.Second, "", 121 * time.Second},
		{"a tool of ten minutes that was allowed them", 0, 11 * time.Minute, 10 * time.Minute, "", 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = takes(c.takes, "a") })
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				ctx, j := task{}.context(t)
				call := work
				call.Idle, call.Max, call.Attempts = c.idle, c.max, 1
				begun := time.Now()
				_, err := r.Do(ctx, call)
				if d := time.Since(begun); d != c.after {
					t.Errorf("ended after %s, want %s", d, c.after)
				}
				if (err == nil) != (c.clock == "") {
					t.Fatalf("error %v, want clock %q", err, c.clock)
				}
				rec := j.Known()[0]
				if c.clock != "" && (rec.Status != state.CallTimeout || !strings.HasPrefix(rec.Message, c.clock+" clock")) {
					t.Errorf("record says %s %q, want a timeout of the %s clock", rec.Status, rec.Message, c.clock)
				}
			})
		})
	}
}

func TestTheCallersDeadlineEndsTheHopWhateverTheClocksSay(t *testing.T) {
	f := newFleet()
	for _, id := range []string{"a", "b"} {
		f.add(id, func(_ *router.Server, k *script) { k.answer = takes(time.Hour, id) })
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		_, err := r.Do(ctx, work)
		deadline, ok := errors.AsType[*router.DeadlineError](err)
		if !ok || deadline.Code() != router.CodeDeadline || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v; want the caller's deadline", err)
		}
		if len(f.calls) != 1 {
			t.Errorf("%d calls; nothing is sent after the deadline", len(f.calls))
		}
		if rec := j.Known()[0]; rec.Final {
			t.Error("the round was closed: the hop did not fail, its caller's time was over")
		}
		// The caller's own limit is no failure of the server.
		for _, s := range r.Servers(t.Context()) {
			if s.Health[0].Success != 1 {
				t.Errorf("%s is blamed: %+v", s.Server.ID, s.Health[0])
			}
		}
	})
}

func TestCancelEndsTheHopAndKeepsItsOutcomeOpen(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Unsafe
		k.answer = takes(time.Hour, "a")
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		ctx, _ := task{book: book, person: &person{}}.context(t)
		reason := errors.New("asked to stop")
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(reason) })
		if _, err := r.Do(ctx, work); !errors.Is(err, reason) {
			t.Fatalf("%v; want the reason of the cancel", err)
		}
		records, _ := book.Records(t.Context(), state.RecordFilter{})
		if got := statuses(records); len(got) != 1 || got[0] != "1 a cancelled unknown MCP_CANCELLED" || records[0].Final {
			t.Errorf("records %v; want one, cancelled, unknown, not final", got)
		}
	})
}

func TestDrain(t *testing.T) {
	run := func(t *testing.T, e state.Effect) (*fleet, error, time.Duration) {
		t.Helper()
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = e
			k.answer = takes(10*time.Second, "a")
		})
		var err error
		var took time.Duration
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			ctx, _ := task{book: &ledgerBook{}}.context(t)
			draining := make(chan struct{})
			ctx = state.WithDraining(ctx, draining)
			time.AfterFunc(time.Second, func() { close(draining) })
			begun := time.Now()
			_, err = r.Do(ctx, work)
			took = time.Since(begun)
			if _, refused := r.Do(ctx, work); !errors.Is(refused, state.ErrDraining) {
				t.Errorf("a hop began during the drain: %v", refused)
			}
		})
		return f, err, took
	}
	t.Run("a safe hop is cancelled", func(t *testing.T) {
		f, err, took := run(t, state.Safe)
		if !errors.Is(err, state.ErrDraining) || took != time.Second || len(f.calls) != 1 {
			t.Errorf("%v after %s and %d calls", err, took, len(f.calls))
		}
	})
	for _, e := range []state.Effect{state.Conditional, state.Unsafe} {
		t.Run("a "+string(e)+" hop may finish", func(t *testing.T) {
			f, err, took := run(t, e)
			if err != nil || took != 10*time.Second || len(f.calls) != 1 {
				t.Errorf("%v after %s and %d calls", err, took, len(f.calls))
			}
		})
	}
}

func TestIsErrorIsAResult(t *testing.T) {
	for _, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = e
			k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
				return &router.ToolResult{Text: "no such file", IsError: true}, nil
			}
		})
		f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Output: []byte(`{"required": ["by"]}`)}
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			ctx, j := task{}.context(t)
			a, err := r.Do(ctx, work)
			if err != nil || !a.IsError || a.Value.(map[string]any)["text"] != "no such file" || len(f.calls) != 1 {
				t.Fatalf("%s: %+v, %v after %d calls", e, a, err, len(f.calls))
			}
			if rec := j.Known()[0]; !rec.Final || !rec.IsError || rec.Status != state.CallSuccess {
				t.Errorf("%s: record %+v", e, rec)
			}
			ctx, _ = task{prior: j.Known()}.context(t)
			final := e != state.Safe // without an effect there is no key under which it could be
			if a, err := r.Do(ctx, work); err != nil || !a.IsError || a.Replayed != final || final != (len(f.calls) == 1) {
				t.Errorf("%s: the next run has %+v, %v after %d calls", e, a, err, len(f.calls))
			}
		})
	}
}

func TestTheJournalComesBeforeTheEffect(t *testing.T) {
	for _, c := range []struct {
		effect state.Effect
		stored string // when the request arrives
	}{
		{state.Safe, ""}, {state.Conditional, "open"}, {state.Unsafe, "open"},
	} {
		t.Run(string(c.effect), func(t *testing.T) {
			book := &ledgerBook{}
			f := newFleet().add("a", func(s *router.Server, k *script) {
				s.Offers[0].Effect = c.effect
				k.answer = func(ctx context.Context, n int, call router.ToolCall) (*router.ToolResult, error) {
					stored := ""
					if rs, _ := book.Records(ctx, state.RecordFilter{}); len(rs) > 0 {
						stored = string(rs[0].Status)
					}
					if stored != c.stored {
						t.Errorf("stored %q as the request arrived, want %q", stored, c.stored)
					}
					return answers("a")(ctx, n, call)
				}
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				ctx, j := task{book: book}.context(t)
				if _, err := r.Do(ctx, work); err != nil {
					t.Fatal(err)
				}
				rs, _ := book.Records(t.Context(), state.RecordFilter{})
				if c.effect == state.Safe {
					if len(rs) != 0 || len(j.Take()) != 1 {
						t.Errorf("stored %v; a safe outcome waits for its task's next store operation", statuses(rs))
					}
				} else if len(rs) != 1 || rs[0].Status != state.CallSuccess || len(rs[0].Result) == 0 {
					t.Errorf("stored %v; want the outcome with its result", statuses(rs))
				}
			})
		})
	}
}

func TestNothingIsSentWithoutADurableIntentOrALease(t *testing.T) {
	t.Run("the store fails", func(t *testing.T) {
		f := newFleet().add("a", effect(state.Unsafe))
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			broken := errors.New("disk full")
			ctx, _ := task{book: &ledgerBook{fail: broken}}.context(t)
			if _, err := r.Do(ctx, work); !errors.Is(err, broken) || len(f.calls) != 0 {
				t.Fatalf("%v after %d calls", err, len(f.calls))
			}
		})
	})
	t.Run("the lease ran out", func(t *testing.T) {
		f := newFleet().add("a", nil)
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			j := state.NewJournal(state.Scope{Task: "k"}, state.JournalOptions{Store: &ledgerBook{},
				Lease: func() state.Lease { return state.Lease{Until: time.Now().Add(-time.Second)} }})
			if _, err := r.Do(state.WithJournal(t.Context(), j), work); !errors.Is(err, state.ErrLeaseLost) || len(f.calls) != 0 {
				t.Fatalf("%v after %d calls", err, len(f.calls))
			}
		})
	})
}

func TestAPanicOfTheCallerIsAFailureLikeAnother(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) { panic("nil map") }
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Attempts = 1
		_, err := r.Do(t.Context(), call)
		if attempts, ok := errors.AsType[*router.AttemptsError](err); !ok || attempts.Code() != "MCP_SERVER_ERROR" {
			t.Fatalf("%v; want MCP_SERVER_ERROR", err)
		}
	})
}

func TestNamedHopsRunAtOnceAndNumberedOnesDoNot(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = takes(time.Second, "a") })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{}.context(t)
		both := func(one, two state.Call) (e1, e2 error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, e1 = r.Do(ctx, one)
			}()
			synctest.Wait()
			_, e2 = r.Do(ctx, two)
			<-done
			return e1, e2
		}
		begun := time.Now()
		if e1, e2 := both(router.Key("x", work), router.Key("y", work)); e1 != nil || e2 != nil || time.Since(begun) != time.Second {
			t.Errorf("%v, %v after %s; want both at once", e1, e2, time.Since(begun))
		}
		_, e2 := both(work, work)
		if _, ok := errors.AsType[*state.OpenHopError](e2); !ok {
			t.Errorf("%v; want that a hop is open", e2)
		}
	})
}
