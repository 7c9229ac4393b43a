package bridge

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestRequestsLeaveInOrderAndASlowOneHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		a, b, c := begin(t, l, "a", false), begin(t, l, "b", false), begin(t, l, "c", false)
		v := s.session(1)
		v.of("c").answer <- says("c")
		c.answered(t)
		v.of("b").answer <- says("b")
		b.answered(t)
		if !a.open() {
			t.Fatal("a has an outcome before its answer")
		}
		v.of("a").answer <- says("a")
		a.answered(t)
		if got := v.methods(); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("sent were %v", got)
		}
	})
}

// A session that is slow to write is not overtaken; one that does not say that it
// wrote delays the next by no more than patience.
func TestTheNextRequestLeavesWhenTheOneBeforeHasItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ slow, after time.Duration }{
		"written at once": {0, 0},
		"written slowly":  {30 * time.Millisecond, 30 * time.Millisecond},
		"not written":     {time.Hour, patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{PingInterval: -1})
				s.prepare = func(v *stand) {
					v.slow = func(r *sending) {
						if r.method != "a" || c.slow == 0 {
							return
						}
						select {
						case <-time.After(c.slow):
						case <-v.gone:
						}
					}
				}
				begin(t, l, "a", false)
				begin(t, l, "b", false)
				pass(time.Second)
				v := s.session(1)
				if got := v.of("b").at.Sub(v.of("a").at); got != c.after {
					t.Errorf("the next left %s after it, want %s", got, c.after)
				}
			})
		})
	}
}

func TestARequestCancelledInTheQueueIsNeverSentAndFreesItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{Queue: 2})
		s.refuses(func(n int) *router.CallError { return []*router.CallError{refusal, refusal, nil}[min(n, 3)-1] })
		a, b := begin(t, l, "a", false), begin(t, l, "b", false)
		begin(t, l, "c", false).failed(t, router.ServerOverload, state.NotExecuted)
		a.cancel()
		d := begin(t, l, "d", false) // at once: nothing has run in between
		a.failed(t, router.Cancelled, state.NotExecuted)
		v := s.after(0)
		v.of("d").answer <- says("d")
		v.of("b").answer <- says("b")
		b.answered(t)
		d.answered(t)
		if got := v.methods(); !slices.Equal(got, []string{"b", "d"}) {
			t.Errorf("sent were %v", got)
		}
	})
}

// The cancel and the end of what held it up come at the same moment.
func TestARequestCancelledAsItIsAboutToLeaveIsNotSent(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			l, s := lineTo(t, &LineOptions{})
			let := make(chan struct{})
			s.prepare = func(v *stand) { v.slow = func(*sending) { <-let } }
			begin(t, l, "a", false)
			b := begin(t, l, "b", false)
			v := s.session(1)
			b.cancel()
			close(let)
			b.failed(t, router.Cancelled, state.NotExecuted)
			if got := v.methods(); !slices.Equal(got, []string{"a"}) {
				t.Errorf("sent were %v", got)
			}
		})
	}
}

func TestARequestCancelledWhileItIsWrittenForItsSessionIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		_, e := l.Begin(ctx, &Request{Method: "a", Make: func(Session) *mcp.Request {
			cancel()
			return &mcp.Request{Method: "a"}
		}})()
		if e == nil || e.Code != router.Cancelled {
			t.Errorf("it ended with %v", e)
		}
		if got := s.session(1).methods(); len(got) != 0 {
			t.Errorf("sent were %v", got)
		}
	})
}

func TestARequestCancelledUnderWayEndsAtOnceAndItsAnswerIsDropped(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"the session returns": false, "the session hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{PingInterval: -1})
				s.prepare = func(v *stand) { v.deaf = deaf }
				a := begin(t, l, "a", true)
				c := s.session(1).of("a")
				a.cancel()
				if a.failed(t, router.Cancelled, state.Unknown); c.ctx.Err() == nil {
					t.Error("the session was not told")
				}
				c.answer <- says("late")
				synctest.Wait()
				if n := len(s.session(1).methods()); n != 1 {
					t.Errorf("it was sent %d times", n)
				}
			})
		})
	}
}

// What is lost in flight comes back to its place, before what came after it, in
// whatever order it is lost.
func TestWhatWasNotExecutedAndWhatMayBeMadeAgainKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		var all []*trial
		for _, m := range []string{"a", "b", "c", "d"} {
			all = append(all, begin(t, l, m, m != "c"))
		}
		v := s.session(1)
		v.of("d").answer <- fate{err: refusal} // so the session is given up
		v.of("c").answer <- fate{err: refusal}
		synctest.Wait()
		all = append(all, begin(t, l, "e", false))
		v.die("crashed")
		w := s.after(1)
		if got := w.methods(); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
			t.Errorf("sent were %v", got)
		}
		for _, a := range all {
			w.of(a.method).answer <- says(a.method)
			a.answered(t)
		}
	})
}

// The next session is there before the last one has given back what it had.
func TestASlowLossKeepsThePlacesToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.prepare = func(v *stand) { v.linger = 700 * time.Millisecond }
		begin(t, l, "a", true)
		lost := time.Now()
		s.session(1).die("crashed")
		synctest.Wait()
		begin(t, l, "b", true)
		w := s.after(1)
		if got := time.Since(lost); got > 300*time.Millisecond || len(w.methods()) > 0 {
			t.Errorf("%v left on a session that began after %s", w.methods(), got)
		}
		pass(time.Second)
		if got := w.methods(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("sent were %v", got)
		}
	})
}

func TestWhatMayHaveBeenExecutedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		a, b := begin(t, l, "a", false), begin(t, l, "b", true)
		s.session(1).die("crashed")
		e := a.failed(t, router.Transport, state.Unknown)
		want := "the connection to server docs broke before it answered (reset): the request may have been carried out, so it is not sent again; look at the server first"
		if e.Message != want {
			t.Errorf("the message is %q", e.Message)
		}
		s.after(1).of("b").answer <- says("b")
		b.answered(t)
		if got := s.session(2).methods(); !slices.Equal(got, []string{"b"}) {
			t.Errorf("sent again were %v", got)
		}
	})
}

// A server that is being replaced takes nothing new, and often ends what it began.
func TestAnAnswerStandsThatComesAsTheSessionIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		a, b, c := begin(t, l, "a", false), begin(t, l, "b", false), begin(t, l, "c", false)
		v := s.session(1)
		v.of("b").answer <- fate{err: refusal}
		w := s.after(1) // the next session has begun
		v.of("a").answer <- says("a")
		a.answered(t)
		v.of("c").answer <- says("c") // its answer and the end are there at once
		v.die("crashed")
		c.answered(t)
		w.of("b").answer <- says("b")
		b.answered(t)
	})
}

func TestARequestThatWaitedTooLongIsNotSentAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{Wait: 30 * time.Second})
		begun := time.Now()
		s.refuses(func(int) *router.CallError {
			if time.Since(begun) > time.Minute {
				return nil
			}
			return refusal
		})
		s.prepare = func(v *stand) { v.auto = true }
		a := begin(t, l, "a", false)
		e := a.failed(t, router.Transport, state.NotExecuted)
		if waited := a.at.Sub(begun); waited != 30*time.Second {
			t.Errorf("it waited %s", waited)
		}
		st := l.Status()
		want := fmt.Sprintf("server docs has been away for 30 s (%d attempts; last: connection refused; next in %s); the request waited 30 s for it and was not sent",
			st.Attempts, spell(st.Next.Sub(a.at)))
		if e.Message != want {
			t.Errorf("the message is %q, want %q", e.Message, want)
		}
		if pass(time.Minute); len(s.session(1).methods()) != 0 {
			t.Error("it was sent after all")
		}
	})
}

func TestClosingAnswersAllThatWaitsAndAllThatIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"the session returns": false, "the session hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{})
				s.prepare = func(v *stand) { v.deaf = deaf }
				a := begin(t, l, "a", true)
				s.session(1)
				before := time.Now()
				l.Close(context.Background())
				a.failed(t, router.Transport, state.Unknown)
				begin(t, l, "b", true).failed(t, router.Transport, state.NotExecuted)
				if _, e := l.Ready(t.Context()); e == nil {
					t.Error("a closed line has a session")
				}
				if took := time.Since(before); took > returning {
					t.Errorf("it took %s", took)
				}
				if n := len(s.session(1).closed); n != 1 {
					t.Errorf("the session was closed %d times", n)
				}
			})
		})
	}
	t.Run("by force when its time is over", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, s := lineTo(t, &LineOptions{})
			s.prepare = func(v *stand) { v.polite = true }
			a := begin(t, l, "a", true)
			s.session(1)
			start := time.Now()
			l.Close(endsIn(t, 500*time.Millisecond))
			if took := time.Since(start); took != 500*time.Millisecond {
				t.Errorf("it took %s", took)
			}
			if a.failed(t, router.Transport, state.Unknown); a.at != start {
				t.Errorf("what was under way was told after %s", a.at.Sub(start))
			}
		})
	})
	t.Run("while the server is away", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, s := lineTo(t, &LineOptions{})
			s.refuses(always(refusal))
			a := begin(t, l, "a", true)
			synctest.Wait()
			l.Close(context.Background())
			a.failed(t, router.Transport, state.NotExecuted)
			if l.Status().State != Closed {
				t.Error("the line is not closed")
			}
		})
	})
}
