package router_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/router"
	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
)

// Three workers, each with a connection of its own to one Redis: the load of one at a
// server of declared concurrency is seen by the others within a second, and gone
// within another once it has ended.
func TestALoadIsSeenByTheOtherWorkersWithinASecond(t *testing.T) {
	t.Parallel()
	address := redistest.Start(t).Address() + "?prefix=" + uuid.NewString()
	end := make(chan struct{})
	f := newFleet().add("small", func(s *router.Server, k *script) {
		s.MaxConcurrent = 8
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			select {
			case <-end:
				return answers("small")(ctx, n, c)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	workers := make([]*router.Router, 3)
	for i := range workers {
		s, err := redis.Open(t.Context(), address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := router.New(f, f, &router.Options{Fleet: &router.Fleet{Store: s, Worker: fmt.Sprint("w", i)}})
		t.Cleanup(func() {
			r.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		workers[i] = r
	}
	// seen waits until a worker reckons with so many calls, and returns how long it took.
	seen := func(r *router.Router, calls int, least bool) time.Duration {
		begun := time.Now()
		for {
			d, err := r.Route(t.Context(), work)
			load := 0.0
			if err == nil {
				load = d.Candidates[0].Terms.Of("load")
			}
			full := 8.0/float64(8+calls) + 1e-9
			if err == nil && (least && load <= full || !least && load >= full-2e-9) {
				return time.Since(begun)
			}
			if time.Since(begun) > 10*time.Second {
				t.Fatalf("%v, load term %v after 10s, want %d calls seen", err, load, calls)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	for _, r := range workers { // the handshakes are no part of it
		seen(r, 0, false)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := workers[0].Do(t.Context(), work); err != nil {
				t.Error(err)
			}
		})
	}
	seen(workers[0], 6, true)
	for i, r := range workers[1:] {
		took := seen(r, 6, true)
		t.Logf("worker %d saw the load after %v", i+1, took)
		if took > time.Second {
			t.Errorf("worker %d saw the load after %v", i+1, took)
		}
	}
	close(end)
	wg.Wait()
	for i, r := range workers[1:] {
		took := seen(r, 0, false)
		t.Logf("worker %d saw the end of the load after %v", i+1, took)
		if took > time.Second {
			t.Errorf("worker %d saw the end of the load after %v", i+1, took)
		}
	}
}

func BenchmarkExchange(b *testing.B) {
	address := redistest.Start(b).Address()
	for _, workers := range []int{3, 100, 1000} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s, err := redis.Open(b.Context(), address+"?prefix="+uuid.NewString(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			shares := make([]state.Share, 10)
			for i := range shares {
				shares[i] = state.Share{Server: fmt.Sprint("server-", i), InFlight: i, Calls: 7}
			}
			for i := range workers - 1 {
				if _, err := s.Exchange(b.Context(), fmt.Sprint("other-", i), shares, time.Hour); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := s.Exchange(b.Context(), "me", shares, time.Hour); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
