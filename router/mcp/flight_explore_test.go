package mcp

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
)

// What a flight and its connection's list of requests make of a schedule in real
// goroutines: one way it ended, each message taken or counted, nothing told after
// it landed, and never longer than its maximum.
func TestAFlightEndsOnceInWhateverOrderThingsHappen(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for range rounds {
			flyOnce(t, r)
		}
	})
}

func flyOnce(t *testing.T, r *rand.Rand) {
	const maximum = time.Second
	var counted atomic.Int64
	all := newRequests(&tally{tell: func(string, Stray) { counted.Add(1) }})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.IntN(4) == 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, time.Duration(r.IntN(1200))*time.Millisecond)
		defer end()
	}
	var landed, toldLate atomic.Bool
	begun := time.Now()
	f := takeOff(ctx, &router.ToolCall{Idle: 400 * time.Millisecond, Max: maximum, Progress: func(float64, float64, string) {
		toldLate.Store(toldLate.Load() || landed.Load())
	}})
	reply := make(chan answer, 1)
	if e := f.begin(1); e != nil {
		f.land()
		return
	}
	all.add(1, f, reply)
	var events sync.WaitGroup
	var taken atomic.Int64
	for range 2 + r.IntN(8) {
		what, after, value := r.IntN(6), time.Duration(r.IntN(1100))*time.Millisecond, float64(r.IntN(5))
		events.Go(func() {
			time.Sleep(after)
			switch what {
			case 0:
				if to := all.answered(1); to != nil {
					taken.Add(1)
					to <- answer{}
				}
			case 1:
				all.answered(2)
			case 2, 3:
				all.progress(1, update{progress: value}, plain)
			case 4:
				cancel()
			case 5:
				replied := f.asks()
				time.Sleep(50 * time.Millisecond)
				replied()
			}
		})
	}
	var as phase
	select {
	case <-reply:
		as = completed
	case <-f.ctx.Done():
		if as = f.settle(); as == completed {
			<-reply
		}
	}
	if took := time.Since(begun); took > maximum {
		t.Errorf("ended after %v", took)
	}
	all.end(1, as)
	f.land()
	landed.Store(true)
	if again := f.settle(); again != as || as == started {
		t.Errorf("ended as %v, then as %v", as, again)
	}
	events.Wait()
	if n := taken.Load(); n > 1 || n == 1 != (as == completed) {
		t.Errorf("%d answers were taken, ended as %v", n, as)
	}
	if toldLate.Load() {
		t.Error("progress was told after the call had returned")
	}
	if f.leave() {
		t.Errorf("something may leave after it ended as %v", as)
	}
	was := counted.Load()
	all.progress(1, update{progress: 9}, plain)
	all.progress(2, update{progress: 9}, plain)
	if all.answered(1) != nil || all.answered(2) != nil || counted.Load() != was+4 {
		t.Errorf("of four messages after the end %d are counted", counted.Load()-was)
	}
}

func plain(s string) string { return s }
