package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// inOrder picks the first candidate that weighs anything.
type inOrder struct{}

func (inOrder) Name() string { return "in-order" }
func (inOrder) Pick(weights []float64, _ uint64) (int, float64) {
	return slices.IndexFunc(weights, func(w float64) bool { return w > 0 }), 0
}

// hedged are options under which a second request leaves after a second.
func hedged(o router.Options) router.Options {
	o.Picker, o.Hedge = inOrder{}, router.Hedge{After: time.Second}
	return o
}

func slow(d time.Duration) func(*router.Server, *script) {
	return func(s *router.Server, k *script) { k.answer = takes(d, s.ID) }
}

func replies(r reply) func(*router.Server, *script) {
	return func(_ *router.Server, k *script) { k.answer = r }
}

// later does something after a time, unless the call is cancelled.
func later(d time.Duration, then reply) reply {
	return func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
		select {
		case <-time.After(d):
			return then(ctx, n, c)
		case <-ctx.Done():
			return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown, Message: "cancelled"}
		}
	}
}

// hop makes one hop with a book, and returns its answer, how long it took, and what
// the book says.
func hop(t *testing.T, r *router.Router, c state.Call) (a state.Answer, took time.Duration, said []string, err error) {
	t.Helper()
	ctx, j := task{}.context(t)
	begun := time.Now()
	a, err = r.Do(ctx, c)
	return a, time.Since(begun), statuses(j.Known()), err
}

func TestASecondServerIsAskedWhereTheFirstTakesLong(t *testing.T) {
	broken := fails(router.CallError{Code: router.ServerError, Execution: state.Unknown, Message: "broken"})
	for _, c := range []struct {
		name         string
		first, other func(*router.Server, *script)
		change       func(*router.Options, *state.Call)
		by           string
		took         time.Duration
		said         []string
	}{
		{name: "the second answers first", first: slow(10 * time.Second), other: slow(time.Second), by: "b", took: 2 * time.Second,
			said: []string{"1 a cancelled unknown MCP_CANCELLED", "2 b success  "}},
		{name: "the first answers first", first: slow(3 * time.Second), other: slow(10 * time.Second), by: "a", took: 3 * time.Second,
			said: []string{"1 a success  ", "2 b cancelled unknown MCP_CANCELLED"}},
		{name: "the first is quick", first: slow(999 * time.Millisecond), other: slow(0), by: "a", took: 999 * time.Millisecond,
			said: []string{"1 a success  "}},
		{name: "the second fails and the first answers", first: slow(5 * time.Second), other: replies(broken), by: "a", took: 5 * time.Second,
			said: []string{"1 a success  ", "2 b error unknown MCP_SERVER_ERROR"}},
		{name: "the first fails after the second left", first: replies(later(2*time.Second, broken)), other: slow(5 * time.Second), by: "b", took: 6 * time.Second,
			said: []string{"1 a error unknown MCP_SERVER_ERROR", "2 b success  "}},
		{name: "the second asks for what nobody gives and fails", first: slow(5 * time.Second), by: "a", took: 5 * time.Second,
			other: replies(fails(router.CallError{Code: router.AuthRequired, Message: "who are you"})),
			said:  []string{"1 a success  ", "2 b error not_executed MCP_AUTH_REQUIRED"}},
		{name: "hedging is off", first: slow(10 * time.Second), other: slow(0), by: "a", took: 10 * time.Second,
			change: func(o *router.Options, _ *state.Call) { o.Hedge = router.Hedge{} }, said: []string{"1 a success  "}},
		{name: "one attempt is all there may be", first: slow(10 * time.Second), other: slow(0), by: "a", took: 10 * time.Second,
			change: func(_ *router.Options, c *state.Call) { c.Attempts = 1 }, said: []string{"1 a success  "}},
		{name: "the call names its server", first: slow(10 * time.Second), other: slow(0), by: "a", took: 10 * time.Second,
			change: func(_ *router.Options, c *state.Call) { c.Server = "a" }, said: []string{"1 a success  "}},
		{name: "nothing is known of latencies", first: slow(10 * time.Second), other: slow(0), by: "a", took: 10 * time.Second,
			change: func(o *router.Options, _ *state.Call) { o.Hedge = router.Hedge{P95: true} }, said: []string{"1 a success  "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", c.first).add("b", c.other)
			o, call := hedged(router.Options{}), work
			if c.change != nil {
				c.change(&o, &call)
			}
			inBubble(t, f, o, func(t *testing.T, r *router.Router) {
				a, took, said, err := hop(t, r, call)
				if err != nil || a.Server != c.by || took != c.took {
					t.Errorf("%v, by %q after %v, want by %q after %v", err, a.Server, took, c.by, c.took)
				}
				if !slices.Equal(said, c.said) {
					t.Errorf("recorded %q, want %q", said, c.said)
				}
			})
		})
	}
}

func TestAHopWhoseRequestsBothFailedIsTriedAgain(t *testing.T) {
	broken := fails(router.CallError{Code: router.ServerError, Execution: state.Unknown, Message: "broken"})
	f := newFleet().add("a", replies(later(3*time.Second, broken))).add("b", replies(later(time.Second, broken))).add("c", slow(0))
	inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
		a, took, said, err := hop(t, r, work)
		if err != nil || a.Server != "c" || took != 3*time.Second {
			t.Errorf("%v, by %q after %v, want by c after 3s", err, a.Server, took)
		}
		want := []string{"1 a error unknown MCP_SERVER_ERROR", "2 b error unknown MCP_SERVER_ERROR", "3 c success  "}
		if !slices.Equal(said, want) {
			t.Errorf("recorded %q, want %q", said, want)
		}
	})
}

func TestAHedgedHopThatFailsNamesAllItsAttempts(t *testing.T) {
	broken := fails(router.CallError{Code: router.ServerError, Execution: state.Unknown, Message: "broken"})
	f := newFleet().add("a", replies(later(3*time.Second, broken))).add("b", replies(later(4*time.Second, broken)))
	inBubble(t, f, hedged(router.Options{Attempts: 2}), func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		_, err := r.Do(ctx, work)
		failed, ok := errors.AsType[*router.AttemptsError](err)
		if !ok || len(failed.Attempts) != 2 {
			t.Fatalf("%v, want both attempts named", err)
		}
		rs := j.Known()
		if rs[0].Final || !rs[1].Final {
			t.Errorf("final: %v and %v, want the last attempt alone", rs[0].Final, rs[1].Final)
		}
	})
}

func TestBothAnswersAtOnceAreOneAnswer(t *testing.T) {
	f := newFleet().add("a", slow(3*time.Second)).add("b", slow(2*time.Second))
	inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
		for range 20 {
			a, took, said, err := hop(t, r, work)
			if err != nil || took != 3*time.Second {
				t.Fatalf("%v after %v", err, took)
			}
			won, lost := 0, 0
			for _, s := range said {
				if strings.Contains(s, "success") && strings.Contains(s, a.Server) {
					won++
				} else if strings.Contains(s, "cancelled") {
					lost++
				}
			}
			if won != 1 || lost != 1 {
				t.Fatalf("recorded %q, answered by %s", said, a.Server)
			}
		}
	})
}

func TestOnlySafeHopsAreHedged(t *testing.T) {
	for _, e := range []state.Effect{state.Conditional, state.Unsafe, ""} {
		t.Run(fmt.Sprintf("effect %q", e), func(t *testing.T) {
			f := newFleet()
			for _, id := range []string{"a", "b"} {
				f.add(id, func(s *router.Server, k *script) {
					s.Offers[0].Effect, s.Offers[0].Key, s.Offers[0].Ledger.Name = e, "key", "shared"
					k.answer = takes(10*time.Second, id)
				})
			}
			inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
				if _, took, _, err := hop(t, r, work); err != nil || took != 10*time.Second {
					t.Errorf("%v after %v", err, took)
				}
				if got := f.servers(); !slices.Equal(got, []string{"a"}) {
					t.Errorf("called %v, want one call", got)
				}
			})
		})
	}
	t.Run("nor is a safe one at a server where it is not", func(t *testing.T) {
		f := newFleet().add("a", slow(10*time.Second)).add("b", effect(state.Unsafe)).add("c", slow(time.Second))
		inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
			if a, _, _, err := hop(t, r, work); err != nil || a.Server != "c" {
				t.Errorf("%v, by %q, want by c", err, a.Server)
			}
		})
	})
}

func TestHedgesStayWithinTheRetryBudget(t *testing.T) {
	f := newFleet().add("a", slow(5*time.Second)).add("b", slow(5*time.Second))
	inBubble(t, f, hedged(router.Options{RetryFloor: 3, RetryShare: 0.1}), func(t *testing.T, r *router.Router) {
		const n = 50
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if _, err := r.Do(t.Context(), work); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if extra := len(f.servers()) - n; extra < 3 || extra > 3+n/10 {
			t.Errorf("%d second requests for %d calls, want 3 and a tenth at most", extra, n)
		}
	})
}

func TestAHedgeFollowsTheCandidatesP95(t *testing.T) {
	f := newFleet().add("a", slow(100*time.Millisecond)).add("b", slow(100*time.Millisecond)).add("c", slow(100*time.Millisecond))
	o := router.Options{Hedge: router.Hedge{P95: true}}
	inBubble(t, f, o, func(t *testing.T, r *router.Router) {
		for range 60 {
			if _, err := r.Do(t.Context(), work); err != nil {
				t.Fatal(err)
			}
		}
		before := len(f.servers())
		f.by["a"].answer, f.by["b"].answer, f.by["c"].answer = takes(time.Minute, "a"), takes(time.Minute, "b"), takes(time.Minute, "c")
		begun := time.Now()
		if _, err := r.Do(t.Context(), state.Call{Capability: "work", Max: 2 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		if n := len(f.calls) - before; n != 2 {
			t.Fatalf("%d requests, want 2", n)
		}
		if after := f.calls[before+1].At.Sub(begun); after < 100*time.Millisecond || after > 125*time.Millisecond {
			t.Errorf("the second request left after %v, want the P95 of 100ms", after)
		}
	})
}

func TestADrainEndsBothRequestsOfAHedgedHop(t *testing.T) {
	f := newFleet().add("a", slow(time.Minute)).add("b", slow(time.Minute))
	inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		draining := make(chan struct{})
		ctx = state.WithDraining(ctx, draining)
		time.AfterFunc(5*time.Second, func() { close(draining) })
		begun := time.Now()
		_, err := r.Do(ctx, work)
		if !errors.Is(err, state.ErrDraining) || time.Since(begun) != 5*time.Second {
			t.Errorf("%v after %v, want drained at once", err, time.Since(begun))
		}
		if n := len(j.Known()); n != 2 {
			t.Errorf("%d attempts recorded, want both", n)
		}
	})
}

func TestACancelEndsBothRequestsOfAHedgedHop(t *testing.T) {
	f := newFleet().add("a", slow(time.Minute)).add("b", slow(time.Minute))
	inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		begun := time.Now()
		_, err := r.Do(ctx, work)
		if late := (*router.DeadlineError)(nil); !errors.As(err, &late) || time.Since(begun) != 5*time.Second {
			t.Errorf("%v after %v, want the deadline", err, time.Since(begun))
		}
		if d, err := r.Route(t.Context(), work); err != nil || len(d.Candidates) != 2 || d.Candidates[0].Terms.Of("load") != 1 || d.Candidates[1].Terms.Of("load") != 1 {
			t.Errorf("%v, candidates %+v: places are still taken", err, d.Candidates)
		}
	})
}

func TestACallThatBecameATaskIsNotHedged(t *testing.T) {
	f := newFleet().add("a", replies(func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
		if err := c.OnTask(ctx, state.RemoteTask{ID: "t1", Created: time.Now()}); err != nil {
			return nil, err
		}
		return takes(10*time.Second, "a")(ctx, n, c)
	})).add("b", slow(0))
	inBubble(t, f, hedged(router.Options{}), func(t *testing.T, r *router.Router) {
		if a, _, said, err := hop(t, r, work); err != nil || a.Server != "a" || len(said) != 1 {
			t.Errorf("%v, by %q, recorded %q", err, a.Server, said)
		}
	})
}

// A server that is always outrun is no quicker for it: it is left.
func TestAServerThatIsAlwaysOutrunLosesItsTraffic(t *testing.T) {
	f := newFleet().add("a", slow(100*time.Millisecond)).add("b", slow(100*time.Millisecond)).add("stuck", slow(100*time.Millisecond))
	o := router.Options{Hedge: router.Hedge{After: 300 * time.Millisecond}, RetryShare: 1, RetryFloor: 50}
	inBubble(t, f, o, func(t *testing.T, r *router.Router) {
		for range 60 {
			if _, err := r.Do(t.Context(), work); err != nil {
				t.Fatal(err)
			}
		}
		f.by["stuck"].answer = takes(10*time.Second, "stuck")
		share := func(n int) int {
			before := len(f.servers())
			for range n {
				if _, err := r.Do(t.Context(), work); err != nil {
					t.Fatal(err)
				}
			}
			hits := 0
			for _, id := range f.servers()[before:] {
				if id == "stuck" {
					hits++
				}
			}
			return hits
		}
		share(20)
		if hits := share(100); hits > 20 {
			t.Errorf("%d of 100 calls went to the server that never answers first", hits)
		}
	})
}
