package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

func TestAServerThatIsBeingConnectedIsWaitedForWithinTheMaximum(t *testing.T) {
	f := newFleet().add("slow", func(_ *router.Server, k *script) {
		k.describe = func(ctx context.Context) (*router.Description, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Max = 5 * time.Second
		begun := time.Now()
		_, err := r.Do(t.Context(), call)
		if none, is := errors.AsType[*router.NoCandidateError](err); !is || !strings.Contains(none.Error(), "slow") {
			t.Errorf("%v; want to be told that there is no candidate, and of the slow one", err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s, want the call's maximum of 5s", took)
		}
	})
}

// restarting is a server that dies in its first call and is not connected again
// before a while.
func restarting(effect state.Effect, after time.Duration) *fleet {
	var back time.Time
	broken := func() *router.CallError {
		return &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "not connected", RetryAfter: time.Until(back)}
	}
	return newFleet().add("only", func(s *router.Server, k *script) {
		s.Offers[0].Effect = effect
		k.describe = func(context.Context) (*router.Description, error) {
			if time.Now().Before(back) {
				return nil, broken()
			}
			return &router.Description{Name: "only", Tools: k.tools}, nil
		}
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			switch {
			case n == 1:
				back = time.Now().Add(after)
				return nil, &router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "the process ended"}
			case time.Now().Before(back):
				return nil, broken()
			}
			return answers("only")(ctx, n, c)
		}
	})
}

func TestASafeCallOutlivesTheRestartOfTheOnlyServer(t *testing.T) {
	f := restarting(state.Safe, 3*time.Second)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		begun := time.Now()
		if _, err := r.Do(t.Context(), work); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < 3*time.Second || took > 8*time.Second {
			t.Errorf("it took %s with a server that is away for 3s", took)
		}
	})
}

func TestAServerThatStaysAwayBeyondTheMaximumIsNotWaitedFor(t *testing.T) {
	f := restarting(state.Safe, time.Hour)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Max = 10 * time.Second
		begun := time.Now()
		if _, err := r.Do(t.Context(), call); err == nil {
			t.Fatal("a server that is away answered")
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("it took %s to give up", took)
		}
	})
}

func TestAnUnsafeCallIsNotMadeAgainWhenItsServerIsBack(t *testing.T) {
	f := restarting(state.Unsafe, time.Second)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(t.Context(), work); err == nil {
			t.Fatal("an unknown outcome was taken for a success")
		}
		if n := len(f.servers()); n != 1 {
			t.Errorf("the call was made %d times", n)
		}
	})
}
