package bridge

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Waits after the nth failure in a row at "docs" with seed 1, in ns, as
// [mcp.Backoff] draws them, and when the nth attempt is due after a loss:
//
//	n        1    2    3    4    5    6    7     8     9    10    11    12    13    14    15    16    17    18    19    20    21    22
//	wait   219   83  935  449 2590 1306 1660  7414  2866  2231  4684  2546  3035  4782  7023  6781  3449  3199  2291   789   381  4051 ms
//	due    219  302 1237 1686 4275 5581 7242 14656 17522 19753 24438 26983 30018 34800 41824 48605 52054 55253 57544 58333 58714 62765 ms
const (
	firstWait = 218549327 * time.Nanosecond
	due8      = 14655640433 * time.Nanosecond
	due22     = 62765011283 * time.Nanosecond
)

func TestTheWaitsOfABackOffAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	b, due := mcp.Backoff{Seed: 1}, time.Duration(0)
	for n := 1; n <= 22; n++ {
		due += b.Delay("docs", n)
		switch {
		case n == 1 && due != firstWait, n == 8 && due != due8, n == 22 && due != due22:
			t.Errorf("the %d. attempt is due after %s", n, due)
		}
	}
}

// A server that is away for 60 s is found again by the 22nd attempt of the table, or
// at once by a request that comes within a long back-off after it is back.
func TestAnOutageOfAMinute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		comes  time.Duration // a further request
		back   time.Duration // the next session begins
		failed int           // attempts
	}{
		"nobody else comes":               {0, due22, 21},
		"one comes while it lasts":        {50 * time.Second, due22, 22},            // between the 16th and the 17th
		"one comes in a short back-off":   {58500 * time.Millisecond, due22, 21},    // between the 20th and the 21st
		"one comes when the server is up": {61 * time.Second, 61 * time.Second, 21}, // between the 21st and the 22nd
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{Wait: 2 * time.Minute})
				s.prepare = func(v *stand) { v.auto = true }
				begin(t, l, "before", false).answered(t)
				pass(time.Minute)
				died := time.Now()
				s.refuses(func(int) *router.CallError {
					if time.Since(died) < time.Minute {
						return refusal
					}
					return nil
				})
				s.session(1).die("crashed")
				synctest.Wait()
				all := []*trial{begin(t, l, "at its death", false)}
				if c.comes > 0 {
					pass(c.comes)
					all = append(all, begin(t, l, "later", false))
				}
				for _, a := range all {
					if a.answered(t); a.at.Sub(died) != c.back {
						t.Errorf("%s was answered after %s, want %s", a.method, a.at.Sub(died), c.back)
					}
				}
				if n := len(s.tried()) - 2; n != c.failed {
					t.Errorf("%d attempts failed, want %d", n, c.failed)
				}
				if got := s.session(2).methods()[0]; got != "at its death" {
					t.Errorf("the first to leave was %q", got)
				}
			})
		})
	}
}

// Many clients, the official SDKs among them, give a request up after 60 s.
func TestAClientHearsThatAServerIsAwayBeforeItGivesUpByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.refuses(always(refusal))
		start := time.Now()
		a := begin(t, l, "a", false)
		if a.failed(t, router.Transport, state.NotExecuted); a.at.Sub(start) != 50*time.Second {
			t.Errorf("it waited %s", a.at.Sub(start))
		}
	})
}

// Connected at 0 s, the server dies for the kth time at 600·k s and k-1 waits: the
// 143rd is at 85,831 s and the 144th would be at 86,431 s, after the end. A session
// of ten minutes resets the back-off, so each wait is the first of the table.
func TestADayWithAServerThatDiesEveryTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const deaths, each = 143, 10 * time.Minute
		var gaps []time.Duration
		var lost time.Time
		l, s := lineTo(t, &LineOptions{OnStatus: func(st Status) {
			switch {
			case st.State == Reconnecting && st.Attempts > 0:
				t.Errorf("an attempt failed: %v", st.Why)
			case st.State == Reconnecting:
				lost = st.Since
			case st.State == Connected:
				gaps = append(gaps, st.Since.Sub(lost))
			}
		}})
		s.prepare = func(v *stand) {
			v.auto = true
			time.AfterFunc(each, func() { v.die("crashed") })
		}
		start := time.Now()
		if _, e := l.Ready(t.Context()); e != nil {
			t.Fatal(e)
		}
		asks := 0
		for ; time.Since(start) < 24*time.Hour-97*time.Second; asks++ {
			begin(t, l, "q", false).answered(t)
			pass(97 * time.Second)
		}
		pass(24*time.Hour - time.Since(start))
		synctest.Wait()
		if n := l.Status().Reconnects; n != deaths || len(s.sessions) != deaths+1 || len(gaps) != deaths+1 {
			t.Fatalf("%d reconnects, %d sessions, %d gaps; want %d", n, len(s.sessions), len(gaps), deaths)
		}
		for i, gap := range gaps[1:] {
			if gap != firstWait {
				t.Errorf("the %d. gap is %s, want %s", i+1, gap, firstWait)
			}
		}
		if sent := 0; asks > 0 {
			for _, v := range s.sessions {
				sent += len(v.methods())
			}
			if sent != asks {
				t.Errorf("%d requests were sent %d times", asks, sent)
			}
		}
		if at := s.tried()[deaths].Sub(start); at != deaths*(each+firstWait) {
			t.Errorf("the last attempt was after %s", at)
		}
	})
}

// Attempts are made at 0, 219 and 302 ms; the 4th is due at 1,237. Not parallel: it
// looks at the process's memory.
func TestAFloodWhileTheServerIsAwayIsRefusedAtOnceButForWhatTheQueueHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.refuses(func(n int) *router.CallError {
			if n <= 4 {
				return refusal
			}
			return nil
		})
		s.prepare = func(v *stand) { v.auto = true }
		start := time.Now()
		if _, e := l.Ready(endsIn(t, 500*time.Millisecond)); e == nil {
			t.Fatal("there is a session")
		}
		var kept []*trial
		for i := range 100 {
			kept = append(kept, begin(t, l, fmt.Sprint(i), false))
		}
		synctest.Wait()
		if q := l.Status().Queued; q != 100 {
			t.Fatalf("%d wait, want 100", q)
		}
		const each = 4 << 10 // of allocation for one that is refused
		before := memory()
		for i := range 900 {
			reply, e := l.Begin(t.Context(), &Request{Method: "more"})()
			if e == nil || e.Code != router.ServerOverload || e.Execution != state.NotExecuted {
				t.Fatalf("the %d. over the limit: %v %v", i, reply, e)
			}
			want := "server docs has been away for 500 ms (3 attempts; last: connection refused; next in 737 ms); 100 requests wait already, so this one was refused"
			if e.Message != want {
				t.Fatalf("the message is %q, want %q", e.Message, want)
			}
		}
		after := memory()
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<10 {
			t.Errorf("%d bytes are kept of what was refused", grown)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 900*each {
			t.Errorf("%d bytes were allocated for 900 refusals", spent)
		}
		if now := time.Since(start); now != 500*time.Millisecond {
			t.Errorf("the refusals took until %s", now)
		}
		var want []string
		for i, a := range kept {
			a.answered(t)
			want = append(want, fmt.Sprint(i))
		}
		if got := s.session(1).methods(); !slices.Equal(got, want) {
			t.Errorf("sent were %v", got)
		}
	})
}

func memory() runtime.MemStats {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// endsIn is a context that ends then, as a caller's own deadline does.
func endsIn(t *testing.T, d time.Duration) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), d)
	t.Cleanup(stop)
	return ctx
}

// Between the 8th attempt (14.7 s) and the 9th (17.5 s) a request has one made at
// once; the hundred that follow it have none.
func TestAStormOfRequestsIsNoStormOfAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.prepare = func(v *stand) { v.auto = true }
		begin(t, l, "first", false).answered(t)
		pass(time.Minute)
		lost := time.Now()
		s.refuses(always(refusal))
		s.session(1).die("crashed")
		pass(16 * time.Second)
		for range 50 {
			begin(t, l, "storm", true)
			pass(10 * time.Millisecond)
		}
		var at []time.Duration
		for _, a := range s.tried()[1:] {
			at = append(at, a.Sub(lost))
		}
		if len(at) != 9 || at[7] != due8 || at[8] != 16*time.Second {
			t.Errorf("attempts were made at %v", at)
		}
		if n := l.Status().Attempts; n != 9 {
			t.Errorf("%d attempts are told, want 9", n)
		}
	})
}

// A session that ends at once has cured nothing: the waits grow.
func TestAServerThatEndsEachSessionAtOnceIsNotTriedWithoutPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		s.prepare = func(v *stand) { time.AfterFunc(time.Millisecond, func() { v.die("crashed") }) }
		start := time.Now()
		begin(t, l, "a", true)
		pass(15 * time.Second)
		var at time.Duration
		for n, a := range s.tried() {
			if got := a.Sub(start) - time.Duration(n)*time.Millisecond; n == 8 && got != due8 {
				t.Errorf("the last attempt was after %s, want %s", got, due8)
			}
			at = a.Sub(start)
		}
		if len(s.tried()) != 9 {
			t.Errorf("there were %d attempts, the last at %s", len(s.tried()), at)
		}
	})
}
