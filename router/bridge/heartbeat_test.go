package bridge

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

// Last heard at 0 s: the first heartbeat is due at 20 s and missed at 25 s, the next
// two at 30 s and 35 s.
func TestAServerThatHangsIsGivenUpAfterAnIntervalAndThreeTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lost time.Time
		l, s := lineTo(t, &LineOptions{OnStatus: func(st Status) {
			if st.State == Reconnecting {
				lost = st.Since
			}
		}})
		s.prepare = func(v *stand) { v.deaf = len(s.sessions) == 0 }
		start := time.Now()
		a, b := begin(t, l, "a", true), begin(t, l, "b", false)
		w := s.after(1)
		if at := lost.Sub(start); at != 35*time.Second {
			t.Errorf("it was given up after %s", at)
		}
		if n := s.session(1).pings; n != 3 {
			t.Errorf("there were %d heartbeats", n)
		}
		if at := s.session(1).closed; len(at) != 1 || at[0].Sub(lost) != 0 {
			t.Errorf("it was closed at %v, not at once", at)
		}
		e := b.failed(t, router.Transport, state.Unknown)
		if b.at.Sub(lost) != 0 {
			t.Errorf("what was under way was told after %s: %v", b.at.Sub(lost), e)
		}
		if !strings.Contains(e.Message, "nothing was heard of it for 35 s, and 3 heartbeats had no answer") {
			t.Errorf("what was under way was not told why: %v", e)
		}
		w.of("a").answer <- says("a")
		a.answered(t)
	})
}

// Neither Do nor Close returns: what is under way has its outcome all the same.
func TestASessionThatDoesNotEvenCloseHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		l, s := lineTo(t, &LineOptions{})
		s.prepare = func(v *stand) {
			if len(s.sessions) == 0 {
				v.deaf, v.stuck = true, let
			}
		}
		start := time.Now()
		a, b := begin(t, l, "a", true), begin(t, l, "b", false)
		e := b.failed(t, router.Transport, state.Unknown)
		if took := b.at.Sub(start); took != 35*time.Second+returning || !strings.Contains(e.Message, "3 heartbeats") {
			t.Errorf("it took %s: %v", took, e)
		}
		s.after(1).of("a").answer <- says("a")
		a.answered(t)
		close(let)
	})
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context) *router.CallError {
		<-ctx.Done()
		return failure(router.Timeout, state.NotExecuted, "no answer")
	}
	bad := func(context.Context) *router.CallError { return failure(router.ServerError, state.Unknown, "502") }
	for name, c := range map[string]struct {
		ping  func(context.Context) *router.CallError
		hears []time.Duration // when something else comes from the server
		every time.Duration   // PingInterval
		lost  time.Duration   // 0: not within two minutes
		pings int             // by then
	}{
		"are answered":                       {pings: 6},
		"are off":                            {every: -1, ping: silent},
		"are not needed by one that talks":   {ping: silent, hears: every(10*time.Second, 12), lost: 0},
		"may be missed when something comes": {ping: silent, hears: []time.Duration{23 * time.Second}, lost: 60 * time.Second, pings: 4},
		"may be missed twice":                {ping: silent, hears: []time.Duration{33 * time.Second}, lost: 70 * time.Second, pings: 6},
		"that break the connection end it":   {ping: func(context.Context) *router.CallError { return refusal }, lost: 20 * time.Second, pings: 1},
		"with a bad answer count as missed":  {ping: bad, lost: 35 * time.Second, pings: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{PingInterval: c.every})
				s.prepare = func(v *stand) { v.ping = c.ping }
				start := time.Now()
				if _, e := l.Ready(t.Context()); e != nil {
					t.Fatal(e)
				}
				v := s.session(1)
				s.refuses(always(refusal))
				for _, at := range c.hears {
					time.AfterFunc(at, v.hear)
				}
				pass(2*time.Minute + time.Second)
				v.mu.Lock()
				defer v.mu.Unlock()
				st := l.Status()
				if c.lost == 0 {
					if st.State != Connected {
						t.Errorf("it was given up after %s: %v", st.Since.Sub(start), st.Why)
					}
				} else if st.State != Reconnecting || st.Since.Sub(start) != c.lost {
					t.Errorf("it is %s since %s, want to be lost at %s", st.State, st.Since.Sub(start), c.lost)
				}
				if v.pings != c.pings {
					t.Errorf("there were %d heartbeats, want %d", v.pings, c.pings)
				}
			})
		})
	}
}

func every(d time.Duration, n int) (all []time.Duration) {
	for i := range n {
		all = append(all, time.Duration(i+1)*d)
	}
	return all
}

func TestAHeartbeatDoesNotWaitBehindRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.prepare = func(v *stand) {
			v.slow = func(*sending) { <-v.gone } // it takes no request
		}
		for range 200 {
			begin(t, l, "a", false)
		}
		pass(21 * time.Second)
		if v := s.session(1); v.pings != 1 {
			t.Errorf("there were %d heartbeats", v.pings)
		}
	})
}
