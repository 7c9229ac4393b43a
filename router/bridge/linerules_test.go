package bridge

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// The third refusal is the outcome: with it the request would rest for a minute in all.
func TestARequestThatIsRefusedForNowRestsAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{Wait: time.Minute})
		start := time.Now()
		a := begin(t, l, "a", false)
		v := s.session(1)
		busy := &router.CallError{Code: router.ServerOverload, Execution: state.NotExecuted, Message: "429", RetryAfter: 20 * time.Second}
		for n := range 2 {
			v.of("a").answer <- fate{err: busy}
			begun := time.Now()
			b := begin(t, l, "b", false)
			v.of("b").answer <- says("b")
			if b.answered(t); time.Since(begun) != 0 {
				t.Error("another request had to wait for it")
			}
			pass(20 * time.Second)
			if at := v.of("a").at.Sub(start); at != time.Duration(n+1)*20*time.Second {
				t.Errorf("it went again after %s", at)
			}
		}
		v.of("a").answer <- fate{err: busy}
		e := a.failed(t, router.ServerOverload, state.NotExecuted)
		if e.Message != "429" || a.at.Sub(start) != 40*time.Second {
			t.Errorf("after %s: %v", a.at.Sub(start), e)
		}
		if n := l.Status().Reconnects; n != 0 {
			t.Errorf("the session was given up %d times", n)
		}
	})
}

func TestARequestWhoseServerGoesWhileItRestsWaitsNoLongerForThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{Wait: time.Minute})
		start := time.Now()
		a := begin(t, l, "a", false)
		v := s.session(1)
		v.of("a").answer <- fate{err: &router.CallError{Code: router.ServerOverload, Execution: state.NotExecuted, RetryAfter: 20 * time.Second}}
		pass(10 * time.Second)
		s.refuses(always(refusal))
		v.die("crashed")
		if a.failed(t, router.Transport, state.NotExecuted); a.at.Sub(start) != time.Minute {
			t.Errorf("it waited %s", a.at.Sub(start))
		}
	})
}

func TestARequestThatEndsItsServerIsNotSentForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		a := begin(t, l, "a", true)
		for n := range mostLost {
			if v := s.after(n); len(v.methods()) != 1 {
				t.Fatalf("session %d had %v", n+1, v.methods())
			} else {
				v.die("panic")
			}
		}
		e := a.failed(t, router.Transport, state.Unknown)
		want := "the connection to server docs broke 5 times under this request (last: reset), which may be what ends it: it is not sent again"
		if e.Message != want {
			t.Errorf("the message is %q", e.Message)
		}
		b := begin(t, l, "b", false)
		s.after(mostLost).of("b").answer <- says("b")
		b.answered(t)
	})
}

func TestWhatTheServerItselfSaysIsTheOutcome(t *testing.T) {
	t.Parallel()
	for _, e := range []*router.CallError{
		failure(router.AuthRequired, state.NotExecuted, "401"),
		failure(router.CapabilityMismatch, state.NotExecuted, "no such tool"),
		failure(router.ServerError, state.Unknown, "502"),
		failure(router.ServerOverload, state.Unknown, "503"),
		failure(router.ServerOverload, state.NotExecuted, "429"),
		failure(router.OutputInvalid, state.Unknown, "half a message"),
		failure(router.Timeout, state.Unknown, "idle"),
	} {
		t.Run(e.Message, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{})
				a := begin(t, l, "a", true)
				s.session(1).of("a").answer <- fate{err: e}
				if got := a.failed(t, e.Code, e.Execution); got != e {
					t.Errorf("it was changed: %v", got)
				}
				if st := l.Status(); st.State != Connected || st.Reconnects != 0 {
					t.Errorf("the session was given up: %+v", st)
				}
			})
		})
	}
}

// A stream that breaks is one request's loss: the session may be well.
func TestAReadWhoseStreamBrokeIsMadeAgainOnTheSameSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		a, b := begin(t, l, "a", true), begin(t, l, "b", false)
		v := s.session(1)
		broken := failure(router.Transport, state.Unknown, "EOF")
		v.of("b").answer <- fate{err: broken}
		b.failed(t, router.Transport, state.Unknown)
		v.of("a").answer <- fate{err: broken}
		synctest.Wait()
		v.of("a").answer <- says("a")
		a.answered(t)
		if got := v.methods(); !slices.Equal(got, []string{"a", "b", "a"}) {
			t.Errorf("sent were %v", got)
		}
	})
}

func TestAForgottenSessionAndAnotherVersionAreMetWithANewSession(t *testing.T) {
	t.Parallel()
	for code, sessions := range map[router.Code]int{router.SessionExpired: mostLost, router.VersionUnsupported: 2} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{})
				a, b := begin(t, l, "a", false), begin(t, l, "b", false)
				no := fate{err: failure(code, state.NotExecuted, "no")}
				for n := range sessions {
					v := s.after(n)
					switch n {
					case 0:
						v.of("b").answer <- no
					case 1:
						v.of("b").answer <- says("b")
						b.answered(t)
					}
					v.of("a").answer <- no
				}
				a.failed(t, code, state.NotExecuted)
			})
		})
	}
}

func TestNothingLeavesBeforeASessionIsRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		let := make(chan struct{})
		o := &LineOptions{Wait: 2 * time.Minute, Restore: func(ctx context.Context, s Session) *router.CallError {
			v := s.(*stand)
			n := len(v.server.tried())
			if order = append(order, fmt.Sprintf("restore %d with %d sent", n, len(v.methods()))); n == 1 {
				<-ctx.Done() // as long as Connect
				return failure(router.Timeout, state.NotExecuted, "no answer to tools/list")
			}
			<-let
			return nil
		}}
		l, s := lineTo(t, o)
		s.prepare = func(v *stand) { v.auto = true }
		start := time.Now()
		a := begin(t, l, "a", false)
		pass(time.Minute)
		synctest.Wait()
		if st := l.Status(); st.Attempts != 1 || st.Why == nil || st.Why.Message != "no answer to tools/list" || st.Next.Sub(start) != time.Minute+firstWait {
			t.Errorf("the failure is not the attempt's: %+v", st)
		}
		if n := len(s.session(1).closed); n != 1 {
			t.Errorf("the session that was not restored was closed %d times", n)
		}
		pass(10 * time.Second)
		if !a.open() || len(s.session(2).methods()) != 0 {
			t.Error("the request left before the session was restored")
		}
		close(let)
		a.answered(t)
		if want := []string{"restore 1 with 0 sent", "restore 2 with 0 sent"}; !slices.Equal(order, want) {
			t.Errorf("in order: %v", order)
		}
	})
}

func TestWhoWaitsIsToldAtOnceWhatWaitingDoesNotCure(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*router.CallError{
		"a credential is wanted": failure(router.AuthRequired, state.NotExecuted, "401"),
		"a credential is wrong":  failure(router.AuthMismatch, state.NotExecuted, "403"),
		"no common version":      failure(router.VersionUnsupported, state.NotExecuted, "none"),
		"no such command":        {Code: router.Transport, Execution: state.NotExecuted, Message: "does not start", Err: &exec.Error{Name: "x", Err: exec.ErrNotFound}},
		"no such file":           {Code: router.Transport, Execution: state.NotExecuted, Message: "does not start", Err: &fs.PathError{Op: "exec", Path: "/x", Err: fs.ErrNotExist}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{})
				s.refuses(always(e))
				a := begin(t, l, "a", true)
				if _, got := l.Ready(t.Context()); got == nil || got.Code != e.Code {
					t.Errorf("Ready: %v", got)
				}
				got := a.failed(t, e.Code, state.NotExecuted)
				if !strings.Contains(got.Message, "server docs has been away for 0 ms (1 attempt; last: "+e.Message) {
					t.Errorf("the message is %q", got.Message)
				}
				begin(t, l, "b", true).failed(t, e.Code, state.NotExecuted)
				if n := len(s.tried()); n != 1 {
					t.Errorf("%d attempts were made", n)
				}
				pass(16 * time.Second) // it goes on trying: between the 9th and the 10th now
				n := len(s.tried())
				s.refuses(nil)
				c := begin(t, l, "c", true)
				s.after(0).of("c").answer <- says("c")
				c.answered(t)
				if n != 9 || len(s.tried()) != 10 {
					t.Errorf("%d, then %d attempts were made", n, len(s.tried()))
				}
			})
		})
	}
}

func TestAServerThatAsksToBeLeftAloneIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.refuses(always(&router.CallError{Code: router.ServerOverload, Execution: state.NotExecuted, Message: "503", RetryAfter: time.Minute}))
		start := time.Now()
		begin(t, l, "a", true)
		pass(30 * time.Second)
		begin(t, l, "b", true)
		pass(30 * time.Second)
		synctest.Wait()
		if at := s.tried(); len(at) != 2 || at[1].Sub(start) != time.Minute {
			t.Errorf("attempts were made at %v", at)
		}
	})
}

func TestNotificationsFollowTheRequestsBeforeThemAndAreDroppedWithoutASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		let := make(chan struct{})
		s.prepare = func(v *stand) {
			v.slow = func(c *sending) {
				if c.method == "d" {
					<-let
				}
			}
		}
		note := func(m string) { l.Notify(t.Context(), mcp.Notification{Method: m}) }
		note("early")
		begin(t, l, "a", true)
		note("while it connects")
		v := s.session(1)
		begin(t, l, "b", true)
		note("x")
		synctest.Wait()
		begin(t, l, "c", true)
		note("y")
		synctest.Wait()
		begin(t, l, "d", true)
		synctest.Wait()
		note("behind one that is being written")
		v.die("crashed")
		synctest.Wait()
		note("away")
		close(let)
		w := s.after(1)
		synctest.Wait()
		if want := []string{"x after 2", "y after 3"}; !slices.Equal(v.noted, want) {
			t.Errorf("notified were %v", v.noted)
		}
		if len(w.noted) != 0 {
			t.Errorf("the next session was notified of %v", w.noted)
		}
	})
}

func TestEachChangeIsToldOnceInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		l, s := lineTo(t, &LineOptions{OnStatus: func(st Status) {
			why := ""
			if st.Why != nil {
				why = st.Why.Message
			}
			told = append(told, fmt.Sprintf("%s %d %d %s", st.State, st.Attempts, st.Reconnects, why))
		}})
		if st := l.Status(); st.State != Idle {
			t.Errorf("it begins as %s", st.State)
		}
		s.refuses(func(n int) *router.CallError {
			if n == 2 {
				return refusal
			}
			return nil
		})
		if v, e := l.Ready(t.Context()); e != nil || v != Session(s.session(1)) {
			t.Fatalf("Ready: %v %v", v, e)
		}
		s.session(1).die("crashed")
		s.after(1)
		l.Close(t.Context())
		want := []string{"reconnecting 0 0 ", "connected 0 0 ", "reconnecting 0 0 crashed", "reconnecting 1 0 connection refused", "connected 0 1 ", "closed 0 1 "}
		if !slices.Equal(told, want) {
			t.Errorf("told was\n%s", strings.Join(told, "\n"))
		}
	})
}

func TestWhoAsksForASessionWaitsNoLongerThanAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{Wait: 10 * time.Second})
		s.refuses(always(refusal))
		start := time.Now()
		_, e := l.Ready(endsIn(t, time.Second))
		if e == nil || e.Code != router.Timeout || e.Clock != "caller" || time.Since(start) != time.Second {
			t.Errorf("after %s: %v", time.Since(start), e)
		}
		_, e = l.Ready(t.Context())
		if e == nil || e.Code != router.Transport || time.Since(start) != 11*time.Second {
			t.Errorf("after %s: %v", time.Since(start), e)
		}
		if e.Message != "server docs has been away for 11 s (8 attempts; last: connection refused; next in 3 s); 10 s were waited for it" {
			t.Errorf("the message is %q", e.Message)
		}
	})
}
