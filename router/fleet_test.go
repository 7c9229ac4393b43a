package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
	"junction/state/memory"
)

// shop is a store of shares whose exchanges are counted, and can fail.
type shop struct {
	state.ShareStore
	mu   sync.Mutex
	at   []time.Time
	fail error
}

func (s *shop) Exchange(ctx context.Context, worker string, shares []state.Share, keep time.Duration) ([]state.Shared, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	return s.ShareStore.Exchange(ctx, worker, shares, keep)
}

func (s *shop) breakWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *shop) times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.at...)
}

// crew runs n routers of one fleet over the same servers in a bubble.
func crew(t *testing.T, f *fleet, n int, o router.Options, run func(t *testing.T, s *shop, log *bytes.Buffer, rs []*router.Router)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{ShareStore: memory.New(nil)}
		log := new(bytes.Buffer)
		rs := make([]*router.Router, n)
		for i := range rs {
			o := o
			o.Seed = uint64(i + 1)
			o.Fleet = &router.Fleet{Store: s, Worker: fmt.Sprintf("w%d", i)}
			if i == 0 {
				o.Log = slog.New(slog.NewTextHandler(log, nil))
			}
			rs[i] = router.New(f, f, &o)
		}
		defer func() {
			for _, r := range rs {
				r.Close()
			}
		}()
		run(t, s, log, rs)
	})
}

// places is a server of so many places whose calls take d.
func places(n int, d time.Duration) func(*router.Server, *script) {
	return func(s *router.Server, k *script) {
		s.MaxConcurrent = n
		k.answer = takes(d, s.ID)
	}
}

func TestWorkersKeepADeclaredConcurrencyTogether(t *testing.T) {
	f := newFleet().add("small", places(4, time.Minute)).add("large", places(100, time.Minute))
	crew(t, f, 3, router.Options{}, func(t *testing.T, _ *shop, _ *bytes.Buffer, rs []*router.Router) {
		var wg sync.WaitGroup
		defer wg.Wait()
		for range 4 {
			wg.Go(func() {
				if _, err := rs[0].Do(t.Context(), state.Call{Capability: "work", Server: "small", Tool: "do", Max: 5 * time.Minute}); err != nil {
					t.Error(err)
				}
			})
		}
		pass(time.Second)
		for range 2 {
			pass(time.Second)
			for _, r := range rs[1:] {
				// One of the four is its own share, and it has no call there.
				d, err := r.Route(t.Context(), work)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range d.Candidates {
					if c.Server == "small" && c.Terms.Of("load") > 0.58 { // 4 ÷ (4 + 4), or as they fade 4 ÷ (4 + 3)
						t.Errorf("a worker sees load %v at the server that another has filled", c.Terms.Of("load"))
					}
				}
			}
		}
	})
}

func TestAWorkerIsNotShutOutByOnesThatWereThereFirst(t *testing.T) {
	f := newFleet().add("small", places(4, 10*time.Second))
	crew(t, f, 2, router.Options{}, func(t *testing.T, _ *shop, _ *bytes.Buffer, rs []*router.Router) {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 12 { // three times as many as there are places, for ever
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = rs[0].Do(ctx, work)
				}
			})
		}
		pass(5 * time.Second)
		begun := time.Now()
		_, err := rs[1].Do(t.Context(), work)
		if took := time.Since(begun); err != nil || took > 11*time.Second {
			t.Errorf("%v after %v, want a place at once", err, took)
		}
		stop()
		wg.Wait()
	})
}

func TestAPlaceThatAnotherWorkerGivesBackIsTakenWithinASecond(t *testing.T) {
	f := newFleet().add("small", places(1, 10*time.Second))
	crew(t, f, 3, router.Options{}, func(t *testing.T, _ *shop, _ *bytes.Buffer, rs []*router.Router) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := rs[0].Do(t.Context(), work); err != nil {
				t.Error(err)
			}
		})
		pass(time.Second)
		begun := time.Now()
		if _, err := rs[1].Do(t.Context(), work); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if n := len(f.calls); n != 2 {
			t.Fatalf("%d calls, want 2", n)
		}
		waited := f.calls[1].At.Sub(begun)
		if waited < 9*time.Second || waited > 10*time.Second {
			t.Errorf("the second worker waited %v for the place that came free after 9s", waited)
		}
	})
}

func TestAServerThatMostWorkersEjectedIsLeftByAll(t *testing.T) {
	broken := fails(router.CallError{Code: router.ServerError, Execution: state.Unknown, Message: "broken"})
	f := newFleet().add("bad", func(_ *router.Server, k *script) { k.answer = broken }).add("good", nil)
	crew(t, f, 3, router.Options{}, func(t *testing.T, _ *shop, _ *bytes.Buffer, rs []*router.Router) {
		for _, r := range rs[:2] {
			for range 3 {
				_, _ = r.Do(t.Context(), state.Call{Capability: "work", Server: "bad", Tool: "do", Attempts: 1})
				_, _ = r.Do(t.Context(), state.Call{Capability: "work", Server: "bad", Attempts: 1})
			}
		}
		pass(time.Second)
		d, err := rs[2].Route(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		if d.Picked != "good" || !strings.Contains(fmt.Sprint(d.Rejected), "ejected") {
			t.Errorf("picked %s, rejected %v: the third worker does not know", d.Picked, d.Rejected)
		}
		pass(time.Minute)
		if d, err = rs[2].Route(t.Context(), work); err != nil || len(d.Candidates) != 2 {
			t.Errorf("%v, candidates %v: it is not back", err, d.Candidates)
		}
	})
}

func TestExchangesAreFewAndNeverTogether(t *testing.T) {
	crew(t, newFleet().add("a", nil), 10, router.Options{}, func(t *testing.T, s *shop, _ *bytes.Buffer, _ []*router.Router) {
		pass(time.Minute)
		at := s.times()
		if n := len(at); n < 10*120 || n > 10*240 {
			t.Errorf("%d exchanges in a minute, want 120 to 240 of each worker", n)
		}
		most, same := 0, 0
		for i := range at {
			if i > 0 && at[i].Sub(at[i-1]) < time.Millisecond {
				same++
			} else {
				same = 1
			}
			most = max(most, same)
		}
		if most > 5 {
			t.Errorf("%d exchanges within a few milliseconds of each other", most)
		}
	})
}

func TestALargeFleetExchangesLessOften(t *testing.T) {
	crew(t, newFleet().add("a", nil), 400, router.Options{}, func(t *testing.T, s *shop, _ *bytes.Buffer, _ []*router.Router) {
		pass(5 * time.Second) // until each knows how many they are
		before := len(s.times())
		pass(10 * time.Second)
		if n := len(s.times()) - before; n > 10*450 || n < 10*300 {
			t.Errorf("%d exchanges in 10 s by 400 workers, want 400 a second", n)
		}
	})
}

func TestAStoreThatFailsIsToldOnceAndAskedLessOften(t *testing.T) {
	f := newFleet().add("a", places(4, 4*time.Hour))
	crew(t, f, 2, router.Options{}, func(t *testing.T, s *shop, log *bytes.Buffer, rs []*router.Router) {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		for range 3 {
			wg.Go(func() { _, _ = rs[1].Do(ctx, state.Call{Capability: "work", Max: 5 * time.Hour}) })
		}
		pass(time.Second)
		load := func() float64 {
			d, err := rs[0].Route(t.Context(), work)
			if err != nil {
				t.Fatal(err)
			}
			return d.Candidates[0].Terms.Of("load")
		}
		if got := load(); got > 0.6 { // 4 ÷ (4 + 3)
			t.Errorf("load term %v beside another worker's three calls", got)
		}
		s.breakWith(errors.New("gone"))
		pass(10 * time.Second)
		if got := load(); got != 1 {
			t.Errorf("load term %v without news, want 1: the worker's own", got)
		}
		before := len(s.times())
		pass(time.Minute)
		if n := len(s.times()) - before; n > 2*20 {
			t.Errorf("%d exchanges in a minute with a store that fails", n)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("told %d times:\n%s", n, log)
		}
		s.breakWith(nil)
		pass(10 * time.Second)
		synctest.Wait()
		if got := load(); got > 0.6 {
			t.Errorf("load term %v with the store back", got)
		}
		if n := strings.Count(log.String(), "known again"); n != 1 {
			t.Errorf("its return told %d times:\n%s", n, log)
		}
	})
}

func TestAWorkerThatLeavesTakesItsSharesBack(t *testing.T) {
	f := newFleet().add("a", nil)
	crew(t, f, 2, router.Options{}, func(t *testing.T, s *shop, _ *bytes.Buffer, rs []*router.Router) {
		pass(time.Second)
		rs[1].Close()
		pass(2 * time.Millisecond)
		all, err := s.ShareStore.Exchange(t.Context(), "reader", nil, time.Minute)
		if err != nil || len(all) != 1 || all[0].Worker != "w0" {
			t.Errorf("%v, workers %+v, want the one that is left", err, all)
		}
	})
}
