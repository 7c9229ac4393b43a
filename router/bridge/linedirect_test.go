package bridge

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// connected is a line that has its first session, and nothing under way.
func connected(t *testing.T, o *LineOptions, prepare func(*stand)) (*Line, *scripted, *stand) {
	t.Helper()
	l, s := lineTo(t, o)
	s.prepare = prepare
	if _, e := l.Ready(t.Context()); e != nil {
		t.Fatal(e)
	}
	return l, s, s.session(1)
}

func TestARequestWithNothingBeforeItLeavesAtOnceByWhoBringsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _, v := connected(t, &LineOptions{}, nil)
		a := taken(t, l, "a", false)
		v.mu.Lock()
		sent := len(v.sent)
		v.mu.Unlock()
		if sent != 1 || l.Status().Queued != 0 {
			t.Fatalf("%d were sent, with %d in the queue", sent, l.Status().Queued)
		}
		a.awaited()
		v.of("a").answer <- says("a")
		a.answered(t)
		if got, e := a.wait(); e != nil || string(got.Result) != `"a"` {
			t.Errorf("asked again it is %v %v", got, e)
		}
	})
}

// Who waits for a later one may run before who waits for an earlier.
func TestRequestsLeaveInOrderInWhateverOrderTheyAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _, v := connected(t, &LineOptions{}, func(v *stand) { v.auto = true })
		var all []*trial
		for _, m := range []string{"a", "b", "c"} {
			all = append(all, taken(t, l, m, false))
		}
		for _, a := range slices.Backward(all) {
			a.awaited().answered(t)
		}
		l.Notify(t.Context(), mcp.Notification{Method: "x"})
		synctest.Wait()
		d := taken(t, l, "d", false)
		l.Notify(t.Context(), mcp.Notification{Method: "y"})
		synctest.Wait()
		d.awaited().answered(t)
		if got := v.methods(); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("sent were %v", got)
		}
		if want := []string{"x after 3", "y after 4"}; !slices.Equal(v.noted, want) {
			t.Errorf("notified were %v", v.noted)
		}
	})
}

// The one before is begun by its own caller, and slow to have its place.
func TestNothingOvertakesARequestThatIsBegunByWhoBringsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ slow, after time.Duration }{
		"written slowly": {30 * time.Millisecond, 30 * time.Millisecond},
		"not written":    {time.Hour, patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, _, v := connected(t, &LineOptions{PingInterval: -1}, func(v *stand) {
					v.slow = func(r *sending) {
						if r.method != "a" {
							return
						}
						select {
						case <-time.After(c.slow):
						case <-r.ctx.Done():
						}
					}
				})
				begin(t, l, "a", false)
				at := v.of("a").at
				pass(10 * time.Millisecond)
				begin(t, l, "b", false)
				pass(time.Second)
				if got := v.of("b").at.Sub(at); got != c.after {
					t.Errorf("the next left %s after it, want %s", got, c.after)
				}
			})
		})
	}
}

func TestARequestThatHasLeftAndThatNobodyWaitsForYet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(t *testing.T, l *Line, s *scripted, a *trial){
		"may be cancelled": func(t *testing.T, _ *Line, _ *scripted, a *trial) {
			a.cancel()
			a.awaited().failed(t, router.Cancelled, state.Unknown)
		},
		"is lost with its session": func(t *testing.T, _ *Line, s *scripted, a *trial) {
			s.session(1).die("crashed")
			synctest.Wait()
			a.awaited().failed(t, router.Transport, state.Unknown)
		},
		"holds up no other one": func(t *testing.T, l *Line, s *scripted, a *trial) {
			b := begin(t, l, "b", false)
			s.session(1).of("b").answer <- says("b")
			b.answered(t)
			s.session(1).of("a").answer <- says("a")
			a.awaited().answered(t)
		},
		"is ended with the line, which does not wait for ever": func(t *testing.T, l *Line, _ *scripted, a *trial) {
			start := time.Now()
			l.Close(context.Background())
			a.awaited().failed(t, router.Transport, state.Unknown)
			if took := time.Since(start); took != 2*returning {
				t.Errorf("closing took %s", took)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s, _ := connected(t, &LineOptions{}, nil)
				a := taken(t, l, "a", false)
				c(t, l, s, a)
				if got := s.session(1).methods(); got[0] != "a" {
					t.Errorf("sent were %v", got)
				}
			})
		})
	}
}

func TestWhatIsBegunByWhoBringsItFollowsTheSameRulesWhenItIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s, v := connected(t, &LineOptions{}, nil)
		a := begin(t, l, "a", true)
		v.of("a")
		b := begin(t, l, "b", false)
		v.of("b")
		c := begin(t, l, "c", true)
		v.of("c")
		c.cancel()
		if e := c.failed(t, router.Cancelled, state.Unknown); e.Message != "a request to server docs was cancelled; it was sent" {
			t.Errorf("the message is %q", e.Message)
		}
		v.die("crashed")
		b.failed(t, router.Transport, state.Unknown)
		d := begin(t, l, "d", false)
		w := s.after(1)
		if got := w.methods(); !slices.Equal(got, []string{"a", "d"}) {
			t.Errorf("sent again were %v", got)
		}
		w.of("a").answer <- says("a")
		a.answered(t)
		w.of("d").answer <- says("d")
		d.answered(t)
	})
}

func TestARequestThatRestsOfItsOwnIsMadeAgainForWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _, v := connected(t, &LineOptions{}, nil)
		start := time.Now()
		a := begin(t, l, "a", false)
		v.of("a").answer <- fate{err: &router.CallError{Code: router.ServerOverload, Execution: state.NotExecuted, RetryAfter: 20 * time.Second}}
		synctest.Wait()
		b := begin(t, l, "b", false)
		v.of("b").answer <- says("b")
		b.answered(t)
		pass(21 * time.Second)
		c := v.of("a")
		if got := c.at.Sub(start); got != 20*time.Second {
			t.Errorf("it went again after %s", got)
		}
		c.answer <- says("a")
		a.answered(t)
	})
}

func TestASessionThatMayHangIsNotTrustedWithWhoBringsARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _, v := connected(t, &LineOptions{PingInterval: -1}, func(v *stand) { v.deaf = true })
		a := begin(t, l, "a", false)
		if v.of("a"); !a.open() {
			t.Fatal("it has an outcome before its answer")
		}
		a.cancel()
		a.failed(t, router.Cancelled, state.Unknown) // although Do has not returned
	})
}
