package bridge

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

var forgotten = failure(router.SessionExpired, state.NotExecuted, "session not found")

// givesUp has the line give its nth session up, which lives, and returns the next.
func (s *scripted) givesUp(t *testing.T, l *Line, n int) *stand {
	t.Helper()
	b := begin(t, l, "b", true)
	s.session(n).of("b").answer <- fate{err: forgotten}
	v := s.after(n)
	pass(settling)
	v.of("b").answer <- says("b")
	b.answered(t)
	return v
}

// ends is when the session was closed.
func (v *stand) ends() []time.Time {
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.closed)
}

// A server that is replaced refuses heartbeats, and often ends what it began.
func TestACallOnASessionThatWasGivenUpGoesOnForAsLongAsItIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		var refused atomic.Bool
		s.prepare = func(v *stand) {
			v.ping = func(context.Context) *router.CallError {
				if refused.Load() && v == s.all()[0] {
					return refusal
				}
				v.hear()
				return nil
			}
		}
		a := begin(t, l, "a", false)
		old := s.session(1)
		v := s.givesUp(t, l, 1)
		pass(5 * time.Minute)
		refused.Store(true)
		pass(5 * time.Minute)
		if !a.open() || len(old.ends()) != 0 {
			t.Fatalf("it was cut: %v", a.got.err)
		}
		old.of("a").answer <- says("a")
		a.answered(t)
		if at := old.ends(); len(at) != 1 || at[0] != a.at {
			t.Errorf("the session was closed at %v, its last answer was at %v", at, a.at)
		}
		if got := old.methods(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%v left on a session that was given up", got)
		}
		if st := l.Status(); st.State != Connected || st.Reconnects != 1 || len(v.ends()) != 0 {
			t.Errorf("the next session is not well: %+v", st)
		}
	})
}

func TestWhatIsUnderWayOnASessionThatWasGivenUpEndsWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deaf   bool
		linger time.Duration // of what is under way, after the session's end
		end    func(l *Line, old *stand, a *trial)
		code   router.Code
		why    string
		in     time.Duration // at most
	}{
		"its connection": {
			end:  func(_ *Line, old *stand, _ *trial) { old.die("crashed") },
			code: router.Transport, why: "the connection to server docs broke before it answered (reset): the request may have been carried out, so it is not sent again; look at the server first",
		},
		"its connection, where the session hangs": {
			linger: time.Hour,
			end:    func(_ *Line, old *stand, _ *trial) { old.die("crashed") },
			code:   router.Transport, why: "the connection to server docs broke before it answered (session not found): the request may have been carried out, so it is not sent again; look at the server first",
			in: settling + 2*returning,
		},
		"its client": {
			end:  func(_ *Line, _ *stand, a *trial) { a.cancel() },
			code: router.Cancelled, why: "a request to server docs was cancelled; it was sent",
		},
		"the line": {
			end:  func(l *Line, _ *stand, _ *trial) { l.Close(context.Background()) },
			code: router.Transport, why: "the connection to server docs is closed",
		},
		"the last sign of life": { // at most a PingInterval, then three heartbeats
			end: func(_ *Line, old *stand, _ *trial) {
				old.mu.Lock()
				defer old.mu.Unlock()
				old.ping = func(ctx context.Context) *router.CallError {
					<-ctx.Done()
					return failure(router.Timeout, state.Unknown, "no answer")
				}
			},
			code: router.Transport, why: "the connection to server docs broke before it answered (nothing was heard of it for 35 s, and 3 heartbeats had no answer): the request may have been carried out, so it is not sent again; look at the server first",
			in: 40 * time.Second,
		},
		"its client, where the session hangs": {
			deaf: true,
			end:  func(_ *Line, _ *stand, a *trial) { a.cancel() },
			code: router.Cancelled, why: "a request to server docs was cancelled; it was sent",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := &LineOptions{}
				if c.deaf {
					o.PingInterval = -1
				}
				l, s := lineTo(t, o)
				s.prepare = func(v *stand) { v.deaf, v.linger = c.deaf, c.linger }
				a := begin(t, l, "a", false)
				old := s.session(1)
				s.givesUp(t, l, 1)
				pass(time.Minute)
				start := time.Now()
				c.end(l, old, a)
				if pass(c.in); a.open() {
					t.Fatalf("it goes on after %s", c.in)
				}
				e := a.failed(t, c.code, state.Unknown)
				if took := a.at.Sub(start); e.Message != c.why || took > c.in {
					t.Errorf("after %s: %s", took, e.Message)
				}
				pass(2 * time.Second)
				if at := old.ends(); len(at) != 1 || at[0].Sub(start) > c.in+returning {
					t.Errorf("the session was closed at %v, the end was at %v", at, start)
				}
			})
		})
	}
}

func TestOfManySessionsThatWereGivenUpTheOldestMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		var all []*trial
		for n := 1; n <= mostLingering+2; n++ {
			all = append(all, begin(t, l, fmt.Sprint(n), n == 1)) // the first may be made again
			s.givesUp(t, l, n)
			pass(time.Minute)
		}
		if all[1].open() {
			t.Fatal("none made room")
		}
		if e := all[1].failed(t, router.Transport, state.Unknown); e.Err == nil {
			t.Errorf("it has no reason: %v", e)
		}
		for n, a := range all[2:] {
			if !a.open() {
				t.Fatalf("%s was cut: %v", a.method, a.got.err)
			}
			s.session(n + 3).of(a.method).answer <- says(a.method)
			a.answered(t)
		}
		// The first was made again when it made room, on a session that is old by now.
		s.session(mostLingering + 2).of("1").answer <- says("1")
		all[0].answered(t)
		for n, v := range s.all() {
			if closed := len(v.ends()) != 0; closed != (n < mostLingering+2) {
				t.Errorf("session %d: closed %v", n+1, closed)
			}
		}
	})
}
