package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

func limited(n int, d time.Duration) func(*router.Server, *script) {
	return func(s *router.Server, k *script) {
		s.MaxConcurrent = n
		k.answer = takes(d, s.ID)
	}
}

// together makes n hops at once and returns their errors.
func together(t *testing.T, r *router.Router, n int) []error {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { _, errs[i] = r.Do(t.Context(), work) })
	}
	wg.Wait()
	return errs
}

func TestASaturatedServerIsPassedOver(t *testing.T) {
	f := newFleet().add("small", limited(1, 10*time.Second)).add("large", limited(100, 10*time.Second))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		begun := time.Now()
		for i, err := range together(t, r, 20) {
			if err != nil {
				t.Errorf("hop %d: %v", i, err)
			}
		}
		counts := map[string]int{}
		for _, s := range f.servers() {
			counts[s]++
		}
		if counts["small"] > 1 || time.Since(begun) != 10*time.Second {
			t.Errorf("calls %v in %s; want at most one at the small server, nobody waiting", counts, time.Since(begun))
		}
	})
}

func TestAHopWaitsForAPlaceAndIsThenRejected(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration
		ok    int // of three hops at a server that takes one at a time, with five seconds of patience
	}{
		{"places come free in time", 2 * time.Second, 3},
		{"the queue moves, though the last one waits longer", 4 * time.Second, 3},
		{"the queue does not move", 10 * time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", limited(1, c.takes))
			inBubble(t, f, router.Options{Saturation: 5 * time.Second}, func(t *testing.T, r *router.Router) {
				ok := 0
				for _, err := range together(t, r, 3) {
					if err == nil {
						ok++
						continue
					}
					busy, is := errors.AsType[*router.RejectedError](err)
					if !is || busy.Code() != router.CodeSaturated || busy.Waited != 5*time.Second {
						t.Errorf("%v; want a rejection after 5s", err)
					}
				}
				if ok != c.ok {
					t.Errorf("%d of 3 hops succeeded, want %d", ok, c.ok)
				}
			})
		})
	}
}

func TestAMovingQueueEndsAtTheMaximum(t *testing.T) {
	f := newFleet().add("a", limited(1, 3*time.Second))
	inBubble(t, f, router.Options{Idle: 5 * time.Second, Max: 7 * time.Second, Attempts: 1}, func(t *testing.T, r *router.Router) {
		begun, ok := time.Now(), 0
		for _, err := range together(t, r, 4) {
			if err == nil {
				ok++
			}
		}
		// Two fit into seven seconds; the third begins with one second left.
		if took := time.Since(begun).Truncate(time.Second); ok != 2 || took != 7*time.Second {
			t.Errorf("%d of 4 hops succeeded in %s, want 2 in 7s", ok, took)
		}
	})
}

func TestWaitingForAPlaceCountsAgainstTheMaximum(t *testing.T) {
	f := newFleet().add("a", limited(1, 3*time.Second))
	inBubble(t, f, router.Options{Max: 5 * time.Second}, func(t *testing.T, r *router.Router) {
		together(t, r, 2)
		if first, second := f.calls[0].Call.Max, f.calls[1].Call.Max; first != 5*time.Second || second != 2*time.Second {
			t.Errorf("maximum of the first %s, of the second, which queued three seconds, %s", first, second)
		}
	})
}

func TestARejectedHopIsRecordedAsSuch(t *testing.T) {
	f := newFleet().add("a", limited(1, time.Hour))
	inBubble(t, f, router.Options{Saturation: -1, Max: time.Minute}, func(t *testing.T, r *router.Router) {
		var first sync.WaitGroup
		first.Go(func() {
			call := work
			call.Attempts = 1
			if _, err := r.Do(t.Context(), call); err == nil {
				t.Error("a call that takes an hour was quicker than its clock")
			}
		})
		synctest.Wait()
		ctx, j := task{}.context(t)
		if _, err := r.Do(ctx, work); err == nil {
			t.Fatal("there was no place")
		}
		if rec := j.Known()[0]; rec.Status != state.CallRejected || rec.Code != router.CodeSaturated || rec.Attempt != 0 || !rec.Final {
			t.Errorf("%+v", rec)
		}
		first.Wait()
	})
}

func TestAServerThatAsksToBeLeftAloneForACenturyIsAskedAgainAfterAnHour(t *testing.T) {
	for name, asked := range map[string]time.Duration{"a century": 100 * 365 * 24 * time.Hour, "longer than clocks can tell": 1<<63 - 1} {
		f := newFleet().add("a", func(_ *router.Server, k *script) {
			k.answer = failsFirst(1, router.CallError{Code: router.ServerOverload, RetryAfter: asked, Execution: state.NotExecuted}, "a")
		})
		inBubble(t, f, router.Options{Saturation: -1}, func(t *testing.T, r *router.Router) {
			for range 2 { // the second is refused: it rests
				if _, err := r.Do(t.Context(), work); err == nil {
					t.Errorf("%s: the hop did not fail", name)
				}
			}
			if n := len(f.servers()); n != 1 {
				t.Errorf("%s: called %d times while it rests", name, n)
			}
			pass(time.Hour + time.Second)
			if _, err := r.Do(t.Context(), work); err != nil {
				t.Errorf("%s: an hour later: %v", name, err)
			}
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	busy := router.CallError{Code: router.ServerOverload, RetryAfter: 7 * time.Second, Execution: state.NotExecuted}
	t.Run("alone the server is waited for", func(t *testing.T) {
		f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = failsFirst(1, busy, "a") })
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			begun := time.Now()
			if _, err := r.Do(t.Context(), work); err != nil || time.Since(begun) < 7*time.Second {
				t.Fatalf("%v after %s", err, time.Since(begun))
			}
		})
	})
	t.Run("others take its calls meanwhile", func(t *testing.T) {
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Weight = 1e9
			k.answer = failsFirst(1, busy, "a")
		}).add("b", nil)
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			for range 5 {
				if a, err := r.Do(t.Context(), work); err != nil || a.Server != "b" {
					t.Fatalf("%+v, %v", a, err)
				}
			}
			<-time.After(7 * time.Second)
			if a, err := r.Do(t.Context(), work); err != nil || a.Server != "a" {
				t.Fatalf("%+v, %v; its rest is over", a, err)
			}
		})
	})
	t.Run("longer than the maximum is not waited for", func(t *testing.T) {
		never := busy
		never.RetryAfter = time.Hour
		f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = fails(never) })
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			begun := time.Now()
			_, err := r.Do(t.Context(), work)
			if _, ok := errors.AsType[*router.RejectedError](err); !ok || time.Since(begun) > time.Second {
				t.Fatalf("%v after %s", err, time.Since(begun))
			}
		})
	})
}

func TestAnOutageIsNotMultipliedByRetries(t *testing.T) {
	down := router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "connection refused"}
	f := newFleet()
	for i := range 5 {
		f.add(fmt.Sprint(i), func(_ *router.Server, k *script) { k.answer = fails(down) })
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		const calls = 2000
		var wg sync.WaitGroup
		var refused atomic.Int64
		begun := time.Now()
		for range calls {
			wg.Go(func() {
				_, err := r.Do(t.Context(), work)
				if budget, ok := errors.AsType[*router.BudgetError](err); ok {
					refused.Add(1)
					if budget.Code() != router.CodeBudget || budget.Server() == "" {
						t.Errorf("%v", err)
					}
				}
			})
			<-time.After(time.Millisecond)
		}
		wg.Wait()
		// A fifth of the calls, three at once, and three each second.
		most := calls + calls/5 + 3 + 3*int(time.Since(begun).Seconds()+1)
		if len(f.calls) > most || refused.Load() == 0 {
			t.Errorf("%d attempts for %d calls, %d refused; want at most %d", len(f.calls), calls, refused.Load(), most)
		}
	})
}

func TestASmallRunMayFailOverWithinItsBudget(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.answer = fails(router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "killed"})
	}).add("b", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		begun := time.Now()
		for i, err := range together(t, r, 16) {
			if err != nil {
				t.Errorf("hop %d: %v", i, err)
			}
		}
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("failing over took %s", d)
		}
	})
}

func TestAServerThatDiesLosesItsTrafficAndGetsItBack(t *testing.T) {
	dead := false
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			if dead {
				return nil, &router.CallError{Code: router.Transport, Execution: state.NotExecuted}
			}
			return answers("a")(ctx, n, c)
		}
	}).add("b", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		share := func(n int, every time.Duration) float64 {
			from := len(f.servers())
			for range n {
				if _, err := r.Do(t.Context(), work); err != nil {
					t.Fatal(err)
				}
				<-time.After(every)
			}
			count := 0
			for _, s := range f.servers()[from:] {
				if s == "a" {
					count++
				}
			}
			return float64(count) / float64(n)
		}
		if got := share(400, 10*time.Millisecond); got < 0.35 || got > 0.65 {
			t.Errorf("a healthy server gets %.2f of the calls, want about half", got)
		}
		dead = true
		if got := share(400, 10*time.Millisecond); got > 0.03 {
			t.Errorf("a dead server gets %.2f of the calls", got)
		}
		dead = false
		<-time.After(2 * time.Minute)
		share(400, 50*time.Millisecond) // slow start
		if got := share(400, 10*time.Millisecond); got < 0.3 {
			t.Errorf("a server that returned gets %.2f of the calls", got)
		}
	})
}

func TestAFastStreamOfToolErrorsAttractsNoTraffic(t *testing.T) {
	f := newFleet()
	for _, id := range []string{"a", "b", "c", "d"} {
		f.add(id, limited(0, 50*time.Millisecond))
	}
	f.by["a"].answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
		<-time.After(2 * time.Millisecond)
		return &router.ToolResult{Text: "quota exceeded", IsError: true}, nil
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		var wg sync.WaitGroup
		drive := func(calls int) {
			for range calls {
				wg.Go(func() {
					if _, err := r.Do(t.Context(), work); err != nil {
						t.Error(err)
					}
				})
				<-time.After(3 * time.Millisecond)
			}
		}
		drive(1000) // three seconds
		from := len(f.servers())
		drive(1000)
		wg.Wait()
		count := 0
		for _, s := range f.servers()[from:] {
			if s == "a" {
				count++
			}
		}
		if share := float64(count) / float64(len(f.servers())-from); share > 0.25 {
			t.Errorf("a server that only answers errors gets %.2f of the calls, its fair share is 0.25", share)
		}
	})
}

func TestEveryServerOfALargeFleetIsNamedWhenNoneCanBeUsed(t *testing.T) {
	t.Run("none fits", func(t *testing.T) {
		f := newFleet()
		for i := range 40 {
			f.add(fmt.Sprintf("s%02d", i), nil)
		}
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			c := work
			c.Need = map[string]any{"language": "cobol"}
			_, err := r.Do(t.Context(), c)
			none, ok := errors.AsType[*router.NoCandidateError](err)
			if !ok || len(none.Rejected) != 40 {
				t.Fatalf("%v", err)
			}
			if text := err.Error(); strings.Contains(text, "no server is known") || !strings.Contains(text, "s00") || !strings.Contains(text, "cobol") {
				t.Errorf("%v", err)
			}
			if len(err.Error()) > 2000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	})
	t.Run("all are saturated", func(t *testing.T) {
		f := newFleet()
		for i := range 40 {
			f.add(fmt.Sprintf("s%02d", i), func(s *router.Server, k *script) {
				s.MaxConcurrent = 1
				k.answer = takes(time.Minute, s.ID)
			})
		}
		inBubble(t, f, router.Options{Saturation: -1, Idle: time.Hour}, func(t *testing.T, r *router.Router) {
			for range 40 {
				go r.Do(t.Context(), work)
			}
			synctest.Wait()
			_, err := r.Do(t.Context(), work)
			if _, ok := errors.AsType[*router.RejectedError](err); !ok || !strings.Contains(err.Error(), "s00") {
				t.Errorf("%v", err)
			}
			pass(2 * time.Minute)
		})
	})
}
