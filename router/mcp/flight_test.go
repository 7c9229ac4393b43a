package mcp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

// idle 500 ms, maximum 2 s, progress at 400, 800 and 1,200 ms: alive at 1,500,
// ended at 2,000 although progress comes at 1,600 and 1,999.
func TestProgressHoldsTheIdleClockOffAndNeverTheMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := takeOff(t.Context(), &router.ToolCall{Idle: 500 * time.Millisecond, Max: 2 * time.Second})
		defer k.land()
		begin := time.Now()
		for i, at := range []time.Duration{400, 800, 1200, 1500, 1600, 1999} {
			time.Sleep(time.Until(begin.Add(at * time.Millisecond)))
			synctest.Wait()
			if err := k.ctx.Err(); err != nil {
				t.Fatalf("ended at %v: %v", time.Since(begin), context.Cause(k.ctx))
			}
			k.report(0, update{progress: float64(i)})
		}
		<-k.ctx.Done()
		if took := time.Since(begin); took != 2*time.Second || context.Cause(k.ctx) != errMaximum {
			t.Errorf("ended after %v: %v", took, context.Cause(k.ctx))
		}
	})
}

func TestOnlyRisingProgressCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []float64
		k := takeOff(t.Context(), &router.ToolCall{Idle: time.Second, Max: time.Minute,
			Progress: func(at, _ float64, _ string) { told = append(told, at) }})
		begin := time.Now()
		go func() {
			for _, at := range []float64{1, 1, 0.5, 2} {
				time.Sleep(400 * time.Millisecond)
				k.report(0, update{progress: at})
			}
		}()
		<-k.ctx.Done()
		// Only the first, at 0.4 s, set the clock back; 2 comes after the end.
		if took := time.Since(begin); took != 1400*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
		time.Sleep(time.Second)
		k.land()
		if !errors.Is(context.Cause(k.ctx), errIdle) || fmt.Sprint(told) != "[1]" {
			t.Errorf("%v, told %v", context.Cause(k.ctx), told)
		}
	})
}

func TestASlowListenerGetsTheNewestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []float64
		k := takeOff(t.Context(), &router.ToolCall{Max: time.Minute, Progress: func(at, _ float64, _ string) {
			told = append(told, at)
			time.Sleep(time.Second)
		}})
		k.report(0, update{progress: 1})
		synctest.Wait()
		for at := 2.0; at <= 1000; at++ {
			k.report(0, update{progress: at}) // never waits
		}
		k.land()
		if fmt.Sprint(told) != "[1 1000]" {
			t.Errorf("told %v", told)
		}
	})
}

func TestLimitsOfWhatACallLeavesUnsaid(t *testing.T) {
	for _, tc := range []struct{ idle, max, wantIdle, wantMax time.Duration }{
		{0, 0, 30 * time.Second, 5 * time.Minute},
		{0, time.Hour, time.Hour, time.Hour},
		{time.Second, 0, time.Second, 5 * time.Minute},
		{time.Hour, 0, time.Hour, time.Hour},
		{time.Second, 2 * time.Second, time.Second, 2 * time.Second},
	} {
		idle, maximum := limits(&router.ToolCall{Idle: tc.idle, Max: tc.max})
		if idle != tc.wantIdle || maximum != tc.wantMax {
			t.Errorf("%v, %v: got %v, %v", tc.idle, tc.max, idle, maximum)
		}
	}
}

func TestWhatWasNotSentDidNotExecuteWhateverTheClock(t *testing.T) {
	for cause, want := range map[error]router.Code{
		errIdle: router.Timeout, errMaximum: router.Timeout, context.DeadlineExceeded: router.Timeout, context.Canceled: router.Cancelled,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if e := ended(ctx, false); e.Code != want || e.Execution != state.NotExecuted {
			t.Errorf("%v, not sent: %s %s", cause, e.Code, e.Execution)
		}
		if e := ended(ctx, true); e.Code != want || e.Execution != state.Unknown {
			t.Errorf("%v, sent: %s %s", cause, e.Code, e.Execution)
		}
	}
}

func TestACallersDeadlineIsOneWhateverItsCauseIsCalled(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("the node took too long"))
	defer cancel()
	k := takeOff(ctx, &router.ToolCall{})
	defer k.land()
	if e := ended(k.ctx, true); e.Code != router.Timeout || e.Clock != "caller" || e.Execution != state.Unknown {
		t.Errorf("%s, clock %q, %s", e.Code, e.Clock, e.Execution)
	}
}

func TestBackoffDoublesToItsCapAndCanBeReplayed(t *testing.T) {
	b := Backoff{Seed: 7}.withDefaults()
	for n, ceiling := range map[int]time.Duration{1: 250e6, 2: 500e6, 3: 1e9, 6: 8e9, 7: 8e9, 1000: 8e9} {
		var most time.Duration
		for server := range 200 {
			d := b.delay(fmt.Sprint("s", server), n)
			if d != b.delay(fmt.Sprint("s", server), n) {
				t.Fatal("the same seed, server and attempt gave two waits")
			}
			most = max(most, d)
		}
		if most >= ceiling || most < ceiling*8/10 {
			t.Errorf("attempt %d: at most %v of %v", n, most, ceiling)
		}
	}
}

// Ten thousand clients that lose the same server spread over the window.
func TestReconnectingClientsDoNotHerd(t *testing.T) {
	const clients, slots = 10_000, 50
	var in [slots]int
	for seed := range uint64(clients) {
		b := Backoff{Seed: seed * 0x9e3779b97f4a7c15}.withDefaults()
		in[int(b.delay("s", 6)*slots/b.Cap)]++
	}
	for i, n := range in {
		if n < clients/slots/2 || n > clients/slots*2 {
			t.Errorf("slot %d holds %d of %d clients", i, n, clients)
		}
	}
}

// flown takes a call through all that happens to one that is answered.
func flown(ctx context.Context, all *requests, id int64) {
	f := takeOff(ctx, &router.ToolCall{Idle: time.Second, Max: time.Minute})
	f.begin(id)
	all.add(id, f, nil)
	f.leave()
	all.answered(id)
	all.end(id, f.settle())
	f.land()
}

func TestDecidingHowACallEndsCostsFewAllocations(t *testing.T) {
	all, id := newRequests(newTally()), int64(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(1000, func() { id++; flown(ctx, all, id) }); n > 7 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFlight(b *testing.B) {
	all := newRequests(newTally())
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for id := int64(1); b.Loop(); id++ {
		flown(ctx, all, id)
	}
}
