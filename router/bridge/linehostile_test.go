package bridge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

// answeredWith is a failure by an HTTP status.
func answeredWith(status int, code router.Code, x state.Execution) *router.CallError {
	e := failure(code, x, fmt.Sprintf("HTTP status %d", status))
	e.HTTPStatus = status
	return e
}

// One request that is too large for the server, or is sent elsewhere by it, costs no other one its session.
func TestARequestThatIsRefusedForWhatItIsCostsNoSession(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308, 406, 413, 415} {
		synctest.Test(t, func(t *testing.T) {
			l, s := lineTo(t, &LineOptions{})
			other, a := begin(t, l, "other", false), begin(t, l, "a", true)
			v := s.session(1)
			v.of("a").answer <- fate{err: answeredWith(status, router.Transport, state.NotExecuted)}
			a.failed(t, router.Transport, state.NotExecuted)
			pass(time.Minute)
			v.of("other").answer <- says("other")
			other.answered(t)
			if st := l.Status(); st.State != Connected || st.Reconnects != 0 || len(v.methods()) != 2 {
				t.Errorf("%d: %+v, sent were %v", status, st, v.methods())
			}
		})
	}
}

// A server that restarts behind something that speaks for it is waited for.
func TestAReadForWhichSomethingBetweenHasNoAnswerIsMadeAgainAfterAWhile(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]router.Code{502: router.ServerError, 503: router.ServerOverload, 504: router.ServerError} {
		synctest.Test(t, func(t *testing.T) {
			l, s := lineTo(t, &LineOptions{Wait: 2 * time.Minute})
			a, b := begin(t, l, "a", true), begin(t, l, "b", false)
			v := s.session(1)
			none := fate{err: answeredWith(status, code, state.Unknown)}
			v.of("b").answer <- none
			b.failed(t, code, state.Unknown)
			start := time.Now()
			for range 5 {
				v.of("a").answer <- none
				synctest.Wait()
				pass(8 * time.Second)
			}
			v.of("a").answer <- says("a")
			a.answered(t)
			if n := len(v.methods()); n != 7 || time.Since(start) > time.Minute {
				t.Errorf("%d: %d were sent", status, n)
			}
			c := begin(t, l, "c", true)
			for range 1 + mostRests {
				v.of("c").answer <- none
				synctest.Wait()
				pass(8 * time.Second)
			}
			c.failed(t, code, state.Unknown)
			if st := l.Status(); st.Reconnects != 0 {
				t.Errorf("%d: %+v", status, st)
			}
		})
	}
}

// What became of the last attempt says nothing of the ones before.
func TestAnAttemptThatIsRefusedDoesNotMakeOneBeforeItUndone(t *testing.T) {
	t.Parallel()
	later := failure(router.ServerOverload, state.NotExecuted, "429")
	later.RetryAfter = time.Hour
	for _, e := range []*router.CallError{
		failure(router.AuthMismatch, state.NotExecuted, "403"), failure(router.CapabilityMismatch, state.NotExecuted, "no such tool"), later,
	} {
		synctest.Test(t, func(t *testing.T) {
			l, s := lineTo(t, &LineOptions{})
			a := begin(t, l, "a", true)
			s.session(1).die("crashed")
			s.after(1).of("a").answer <- fate{err: e}
			a.failed(t, e.Code, state.Unknown)
		})
	}
}

func TestAServerThatLimitsHeartbeatsIsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.prepare = func(v *stand) {
			v.ping = func(context.Context) *router.CallError {
				return answeredWith(429, router.ServerOverload, state.NotExecuted)
			}
		}
		a := begin(t, l, "a", false)
		pass(10 * time.Minute)
		s.session(1).of("a").answer <- says("a")
		a.answered(t)
		if st := l.Status(); st.State != Connected || st.Reconnects != 0 {
			t.Errorf("%+v", st)
		}
	})
}
