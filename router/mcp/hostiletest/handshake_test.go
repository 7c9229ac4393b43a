package hostiletest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
	"junction/state"
)

func TestAHandshakeThatGoesWrongIsOneOfTheCodesAndCertainlyNoCall(t *testing.T) {
	t.Parallel()
	faults := []hostiletest.Fault{
		hostiletest.WrongID, hostiletest.NoID, hostiletest.UnknownType, hostiletest.NoMessage, hostiletest.NoObject, hostiletest.ErrorCode,
		hostiletest.HugeErrorCode, hostiletest.TextErrorCode, hostiletest.TextError, hostiletest.Nested, hostiletest.NoText, hostiletest.AnotherEra,
		hostiletest.Silent, hostiletest.Half, hostiletest.HalfThenSilence, hostiletest.HalfThenEnd, hostiletest.Dropped, hostiletest.Killed, hostiletest.Twice,
	}
	overHTTP := []hostiletest.Fault{
		hostiletest.Unauthorized, hostiletest.TooMany, hostiletest.UnavailableLater, hostiletest.Unavailable, hostiletest.BadGateway,
		hostiletest.Redirects, hostiletest.EndsWithoutAnswer,
	}
	for _, w := range ways {
		methods, all := []string{"server/discover", "tools/list"}, faults
		if !w.modern {
			methods = append(methods, "initialize")
		}
		if w.http {
			all = slices.Concat(faults, overHTTP)
		}
		for _, method := range methods {
			for _, f := range all {
				t.Run(method+": "+string(f)+", "+w.name, func(t *testing.T) {
					t.Parallel()
					world, afar := hostiletest.NewWorld(t), newElsewhere(t)
					s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: f, At: method, World: world.URL, Elsewhere: afar.url})
					c := newClient(t, mcp.Options{ConnectTimeout: 600 * time.Millisecond})
					begun := time.Now()
					_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "work", Max: 10 * time.Second})
					if took := time.Since(begun); took > 5*time.Second {
						t.Errorf("it took %v", took)
					}
					if n := afar.arrived.Load(); n != 0 {
						t.Errorf("%d connections to another host", n)
					}
					if err == nil {
						return // a server of the earlier era may do as it likes when it is asked for the later one
					}
					e := callError(t, err)
					if !slices.Contains(codes, e.Code) || e.Execution != state.NotExecuted || !strings.Contains(e.Message, s.ID) {
						t.Errorf("%s, %s: %s", e.Code, e.Execution, e.Message)
					}
					if n := world.Calls(s.ID); n != 0 {
						t.Errorf("its tool was called %d times", n)
					}
				})
			}
		}
	}
}

func TestAChildThatClosedItsInputIsReplaced(t *testing.T) {
	t.Parallel()
	world := hostiletest.NewWorld(t)
	s := (&hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.ClosesInput, World: world.URL}).Stdio(t)
	c := newClient(t, mcp.Options{})
	try := func() error {
		_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "work", Idle: 20 * time.Second, Max: 20 * time.Second})
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	e := callError(t, try())
	if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "closed its input") {
		t.Errorf("%s, %s: %s", e.Code, e.Execution, e.Message)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	eventually(t, "a new child is called", func() bool { return try() == nil })
	if n := world.Effects(); n != 2 {
		t.Errorf("it took effect %d times, want 2", n)
	}
}

func TestAServerThatAnswersTheEarlierHandshakeWithTheLaterVersionIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		if w.modern {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			world := hostiletest.NewWorld(t)
			s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.LaterEra, World: world.URL})
			begun := time.Now()
			_, err := newClient(t, mcp.Options{ConnectTimeout: 20 * time.Second}).Call(t.Context(), s, tried(well))
			check(t, err, versions, s.ID)
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if n := world.Greeted(s.ID); n > 3 {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

func TestAServerThatRefusesEveryCredentialIsTriedWithEachOnceAndItsToolIsNotReached(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "initialize", "server/discover", "tools/list"} {
		for _, w := range ways {
			if !w.http {
				continue
			}
			t.Run(at+", "+w.name, func(t *testing.T) {
				t.Parallel()
				world := hostiletest.NewWorld(t)
				s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.Unauthorized, At: at, World: world.URL})
				s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}, {Scheme: "api-key", Token: "hunter3hunter3"}}
				_, err := newClient(t, mcp.Options{}).Call(t.Context(), s, tried(well))
				if err == nil {
					return // the method is none of this era
				}
				e := callError(t, err)
				if e.Code != router.AuthMismatch || e.Execution != state.NotExecuted || !strings.Contains(e.Message, s.ID) {
					t.Errorf("%s, %s: %s", e.Code, e.Execution, e.Message)
				}
				if strings.Contains(err.Error(), "hunter") {
					t.Errorf("it shows a credential: %v", err)
				}
				if calls, effects := world.Calls(s.ID), world.Effects(); calls > 3 || effects != 0 {
					t.Errorf("%d calls, %d effects", calls, effects)
				}
			})
		}
	}
}
