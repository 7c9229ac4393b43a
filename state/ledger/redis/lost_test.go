package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"junction/state/ledger"
	"junction/state/ledger/redis"
	"junction/state/redis/redistest"
)

// behind returns a ledger whose connections pass a proxy. retries are the
// client's own; -1: none.
func behind(t *testing.T, retries int, o *ledger.Options) (*ledger.Ledger, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := goredis.NewClient(&goredis.Options{Addr: proxy.Addr(), MaxRetries: retries, ReadTimeout: time.Second})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := ledger.New(redis.New(c, uuid.NewString()), o)
	if err != nil {
		t.Fatal(err)
	}
	return l, proxy
}

func TestAnExecutionSurvivesTheLossOfEveryReply(t *testing.T) {
	t.Parallel()
	for name, retries := range map[string]int{"a client that tries again": 3, "a client that does not": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, proxy := behind(t, retries, nil)
			runs := 0
			effect := func(context.Context, ledger.Run) (any, error) {
				runs++
				proxy.DropReplies(2) // of the commit
				return runs, nil
			}
			do := func(key string, effect ledger.Effect) (ledger.Answer, error) {
				return l.Do(t.Context(), ledger.Call{Key: key, Fingerprint: "f"}, effect)
			}
			warm := func(context.Context, ledger.Run) (any, error) { return 0, nil }
			if _, err := do("warm", warm); err != nil { // the server knows the scripts
				t.Fatal(err)
			}
			proxy.DropReplies(1) // of the claim
			a, err := do("k", effect)
			if retries < 0 {
				if err == nil || errors.Is(err, ledger.ErrUnknown) || runs != 0 {
					t.Fatalf("%+v, %v after %d runs, want a failure before the effect", a, err, runs)
				}
				a, err = do("k", effect) // the claim that was made was given back
			}
			if err != nil || a.Replayed || runs != 1 {
				t.Fatalf("%+v, %v after %d runs", a, err, runs)
			}
			if got := proxy.Dropped(); got != 3 {
				t.Errorf("%d replies were lost, want 3", got)
			}
			again, err := do("k", effect)
			if err != nil || !again.Replayed || again.Receipt != a.Receipt || runs != 1 {
				t.Errorf("%+v, %v after %d runs", again, err, runs)
			}
		})
	}
}

func TestAnEffectIsToldWhenTheServerIsGoneForLongerThanItsLease(t *testing.T) {
	t.Parallel()
	l, proxy := behind(t, -1, &ledger.Options{Lease: 300 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := l.Do(ctx, ledger.Call{Key: "k", Fingerprint: "f"}, func(ctx context.Context, _ ledger.Run) (any, error) {
		proxy.Refuse()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ledger.ErrClaimLost) {
			t.Errorf("told %v", context.Cause(ctx))
		}
		proxy.Accept()
		return nil, ctx.Err()
	})
	if !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("%v, want unknown", err)
	}
}

func TestAKeyThatSomethingElseHoldsIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := client(t, server.Addr())
	prefix := uuid.NewString()
	s := redis.New(c, prefix)
	take := func(key string) (string, error) {
		_, _, err := s.Claim(t.Context(), ledger.Claim{Key: key, Fingerprint: "f", Owner: "o", Receipt: "r", Lease: time.Minute, Keeps: time.Hour})
		keys, scanErr := c.Keys(t.Context(), prefix+":*").Result()
		if scanErr != nil || len(keys) != 1 {
			t.Fatalf("keys %v, %v", keys, scanErr)
		}
		return keys[0], err
	}
	place, err := take("k")
	if err != nil {
		t.Fatal(err)
	}
	if left := c.PTTL(t.Context(), place).Val(); left < 59*time.Minute || left > time.Hour {
		t.Errorf("an entry kept for an hour lives %v", left)
	}
	if err := c.HSet(t.Context(), place, "claimed", "yesterday").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), "k"); err == nil {
		t.Error("an entry that cannot be read was read")
	}
	if err := c.Set(t.Context(), place, "a text", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := take("k"); err == nil {
		t.Error("what is no entry was claimed")
	}
}
