package hostiletest_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"junction/router"
	"junction/router/mcp/hostiletest"
	"junction/state"
	"junction/state/memory"
)

var effects = []state.Effect{state.Safe, state.Conditional, state.Unsafe}

func TestACallRefusedBeforeWorkIsAnsweredByAnotherServerWhateverItsEffect(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		refusals := []hostiletest.Fault{hostiletest.AnotherEra}
		if w.http {
			refusals = append(refusals, hostiletest.TooMany, hostiletest.UnavailableLater, hostiletest.Unauthorized, hostiletest.Redirects)
		}
		for _, f := range refusals {
			for _, e := range effects {
				t.Run(string(f)+", "+w.name+", "+string(e), func(t *testing.T) {
					t.Parallel()
					afar := newElsewhere(t)
					s := newShop(t, w, offer{effect: e}, &hostiletest.Server{ID: "first", Fault: f, Elsewhere: afar.url}, &hostiletest.Server{ID: "second"})
					s.done(t, s.run(t), "second")
					s.calls(t, "first", 1)
					s.calls(t, "second", 1)
					if afar.arrived.Load() != 0 {
						t.Error("another host was asked")
					}
				})
			}
		}
	}
}

func TestACallWhoseConnectionIsRefusedIsAnsweredByAnotherServerWhateverItsEffect(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		for _, e := range effects {
			t.Run(map[bool]string{true: "modern, ", false: "legacy, "}[modern]+string(e), func(t *testing.T) {
				t.Parallel()
				s := &shop{world: hostiletest.NewWorld(t), store: memory.New(nil), max: longMax}
				leaving := apart(t, &hostiletest.Server{ID: "first", Modern: modern, World: s.world.URL})
				leaving.Config.SetKeepAlivesEnabled(false) // a request on a kept connection may be lost, not refused
				t.Cleanup(leaving.Close)
				first := &router.Server{ID: "first", Name: "first", Source: "file", Dial: router.Dial{URL: leaving.URL + "/mcp"}}
				second := (&hostiletest.Server{ID: "second", Modern: modern, World: s.world.URL}).HTTP(t)
				s.open(t, known{offered(first, offer{effect: e}, true), offered(second, offer{effect: e}, false)})
				leaving.Close() // it was described, and refuses from here on
				s.done(t, s.run(t), "second")
				s.calls(t, "first", 0)
			})
		}
	}
}

func TestACallWhoseSessionIsLostAgainAndAgainIsAnsweredByAnotherServerWhateverItsEffect(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} { // where there are no sessions, nothing is served at that address
		for _, e := range effects {
			t.Run(fmt.Sprintf("modern %t, %s", modern, e), func(t *testing.T) {
				t.Parallel()
				s := newShop(t, way{http: true, modern: modern}, offer{effect: e}, &hostiletest.Server{ID: "first", Fault: hostiletest.LosesSessions}, &hostiletest.Server{ID: "second"})
				s.done(t, s.run(t), "second")
				s.calls(t, "second", 1)
				if n := s.world.Calls("first"); n < 1 || n > 4 {
					t.Errorf("first was called %d times", n)
				}
			})
		}
	}
}

// apart serves at an address whose port no other test takes when it is free again,
// where the system has such an address.
func apart(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return httptest.NewServer(h)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	return s
}

func TestACallOfAServerThatCannotBeStartedIsAnsweredByAnotherWhateverItsEffect(t *testing.T) {
	t.Parallel()
	for _, e := range effects {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			s := &shop{world: hostiletest.NewWorld(t), store: memory.New(nil), max: longMax}
			first := &router.Server{ID: "first", Name: "first", Source: "file", Dial: router.Dial{Command: "no-such-command-anywhere"}}
			second := (&hostiletest.Server{ID: "second", World: s.world.URL}).Stdio(t)
			s.open(t, known{offered(first, offer{effect: e}, true), offered(second, offer{effect: e}, false)})
			s.done(t, s.run(t), "second")
		})
	}
}
