package redis_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
	"junction/state/statetest"
)

// opened is a store at an address, with keys of its own.
func opened(t testing.TB, address string, o redis.Options) *redis.Store {
	t.Helper()
	o.Prefix = "test-" + uuid.NewString()
	s, err := redis.Open(t.Context(), address, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestQueue(t *testing.T) {
	t.Parallel()
	statetest.RunQueue(t, func(t *testing.T) state.Queue {
		return opened(t, redistest.Shared(t).Address(), redis.Options{})
	})
}

func TestQueueOnCluster(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	statetest.RunQueue(t, func(t *testing.T) state.Queue {
		return opened(t, redistest.SharedCluster(t).Address(), redis.Options{})
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// behindProxy is a store whose scripts are known to the server, so that the next
// reply that the proxy loses is one of a script that ran.
func behindProxy(t *testing.T, o redis.Options) (*redistest.Proxy, *redis.Store) {
	t.Helper()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	return p, opened(t, p.Address(), o)
}

func TestQueueLosesNothingWithAReply(t *testing.T) {
	t.Parallel()
	const turn = time.Minute
	p, s := behindProxy(t, redis.Options{})
	lose := func(what string, call func() error) {
		t.Helper()
		before := p.Dropped()
		p.DropReplies(1)
		if err := call(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if p.Dropped() != before+1 {
			t.Fatalf("%s: no reply was lost", what)
		}
	}
	lose("enqueue", func() error { return s.Enqueue(t.Context(), "t", 0) })
	must(t, s.Enqueue(t.Context(), "u", 0))

	var claims []state.Claim
	lose("claim", func() (err error) {
		claims, _, err = s.Claim(t.Context(), 1, turn)
		return err
	})
	if len(claims) != 1 || claims[0].Thread != "t" {
		t.Fatalf("claimed %+v, want t, which the lost reply handed out", claims)
	}
	lose("extend", func() (err error) {
		claims, err = s.Extend(t.Context(), claims, 2*turn)
		return err
	})
	if len(claims) != 1 {
		t.Fatal("the turn is lost that the lost reply extended")
	}
	lose("defer", func() error { return s.Defer(t.Context(), claims[0], 0) })
	claims, _, err := s.Claim(t.Context(), 2, turn)
	must(t, err)
	if len(claims) != 2 {
		t.Fatalf("claimed %+v, want t and u", claims)
	}
	lose("done", func() error { return s.Done(t.Context(), claims[0]) })
	lose("len", func() error {
		due, later, err := s.QueueLen(t.Context())
		if due != 0 || later != 1 {
			t.Errorf("%d due, %d later, want 0 and 1", due, later)
		}
		return err
	})
}

func TestWaiterOutlastsCutsAndRestarts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "appendonly", "yes")
	p := redistest.NewProxy(t, server.Addr())
	s := opened(t, p.Address(), redis.Options{})
	for what, disturb := range map[string]func(){
		"a cut":     p.Cut,
		"a restart": server.Restart,
	} {
		woken := make(chan error, 1)
		go func() { woken <- s.WaitQueued(t.Context(), time.Minute) }()
		blocked(t, server, 1)
		disturb()
		eventually(t, what+" leaves the waiter waiting", func() bool {
			must(t, s.Enqueue(t.Context(), what, 0))
			select {
			case err := <-woken:
				must(t, err)
				return true
			default: // rung for the connection that was cut, of which the server has not heard
				return false
			}
		})
		if _, _, err := s.Claim(t.Context(), 1, time.Minute); err != nil {
			t.Error(err)
		}
	}
}

// blocked waits until so many clients block on a list.
func blocked(t *testing.T, server *redistest.Server, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d blocked clients", want), func() bool {
		return infoField(t, server, "clients", "blocked_clients") == fmt.Sprint(want)
	})
}

func TestWaitFailsOnlyWhenRedisStaysAway(t *testing.T) {
	t.Parallel()
	p, s := behindProxy(t, redis.Options{Timeout: 200 * time.Millisecond})
	p.Refuse()
	err := s.WaitQueued(t.Context(), 300*time.Millisecond)
	if !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("error is %v, want unavailable", err)
	}
	woken := make(chan error, 1)
	go func() { woken <- s.WaitQueued(t.Context(), time.Minute) }()
	p.Accept()
	eventually(t, "the store is back", func() bool { return s.Enqueue(t.Context(), "t", 0) == nil })
	must(t, <-woken)
}
