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

// codes are all there are.
var codes = []router.Code{
	router.AuthRequired, router.AuthMismatch, router.CapabilityMismatch, router.OutputInvalid, router.VersionUnsupported, router.SessionExpired,
	router.ServerOverload, router.ServerError, router.Timeout, router.Cancelled, router.Transport, router.IdempotencyConflict,
}

// ending is how a call of a server that does wrong ends; the zero value: well.
type ending struct {
	code      router.Code
	execution state.Execution
	clock     string
}

const no, maybe = state.NotExecuted, state.Unknown

var (
	well     = ending{}
	invalid  = ending{router.OutputInvalid, maybe, ""}
	misfit   = ending{router.CapabilityMismatch, no, ""}
	broken   = ending{router.Transport, maybe, ""}
	failed   = ending{router.ServerError, maybe, ""}
	idle     = ending{router.Timeout, maybe, "idle"}
	maximum  = ending{router.Timeout, maybe, "maximum"}
	versions = ending{router.VersionUnsupported, no, ""}
)

// misdeeds says how a call ends, over stdio and over HTTP; nil: the fault is none
// of that transport.
var misdeeds = []struct {
	fault       hostiletest.Fault
	stdio, http *ending
	lasting     bool // the server is no better the next time
	heavy       bool // it keeps the machine busy, and is done by itself
}{
	// What belongs to no request cannot be told from a late answer where requests
	// share a line: there the clock speaks.
	{fault: hostiletest.WrongID, stdio: &idle, http: &invalid},
	{fault: hostiletest.NoID, stdio: &idle, http: &invalid},
	{fault: hostiletest.UnknownType, stdio: &invalid, http: &invalid},
	{fault: hostiletest.NoMessage, stdio: &invalid, http: &invalid},
	{fault: hostiletest.NoObject, stdio: &invalid, http: &invalid},
	{fault: hostiletest.ErrorCode, stdio: &failed, http: &failed},
	{fault: hostiletest.HugeErrorCode, stdio: &invalid, http: &invalid},
	{fault: hostiletest.TextErrorCode, stdio: &invalid, http: &invalid},
	{fault: hostiletest.TextError, stdio: &failed, http: &failed},
	{fault: hostiletest.Nested, stdio: &invalid, http: &invalid, heavy: true},
	{fault: hostiletest.NoText, stdio: &invalid, http: &invalid},
	{fault: hostiletest.AnotherEra, stdio: &versions, http: &versions},
	{fault: hostiletest.Twice, stdio: &well, http: &well},
	{fault: hostiletest.Stray, stdio: &well, http: &invalid, heavy: true},
	{fault: hostiletest.Asks, stdio: &well, http: &well, heavy: true},
	{fault: hostiletest.FloodsProgress, stdio: &maximum, http: &maximum, heavy: true},
	{fault: hostiletest.FloodsThenEnds, stdio: &well, http: &well, heavy: true},
	{fault: hostiletest.FallingProgress, stdio: &idle, http: &idle},
	{fault: hostiletest.ForeignProgress, stdio: &idle, http: &idle},
	{fault: hostiletest.Silent, stdio: &idle, http: &idle},
	{fault: hostiletest.AfterCancel, stdio: &idle, http: &idle},
	{fault: hostiletest.Half, stdio: &invalid, http: &invalid},
	{fault: hostiletest.HalfThenSilence, stdio: &idle, http: &idle},
	{fault: hostiletest.HalfThenEnd, stdio: &broken, http: &broken},
	{fault: hostiletest.Dropped, stdio: &broken, http: &broken},
	{fault: hostiletest.Killed, stdio: &broken, http: &broken},
	{fault: hostiletest.Mumbles, stdio: &well},
	{fault: hostiletest.FloodsStderr, stdio: &well, heavy: true},
	{fault: hostiletest.FloodsJunk, stdio: &well, heavy: true},
	{fault: hostiletest.ClosesOutput, stdio: &broken},
	{fault: hostiletest.Unauthorized, http: &ending{router.AuthRequired, no, ""}},
	{fault: hostiletest.TooMany, http: &ending{router.ServerOverload, no, ""}},
	{fault: hostiletest.UnavailableLater, http: &ending{router.ServerOverload, no, ""}},
	{fault: hostiletest.Redirects, http: &ending{router.Transport, no, ""}},
	{fault: hostiletest.Unavailable, http: &ending{router.ServerOverload, maybe, ""}},
	{fault: hostiletest.BadGateway, http: &failed},
	{fault: hostiletest.HugeHeader, http: &broken, heavy: true},
	{fault: hostiletest.Dribbles, http: &idle},
	{fault: hostiletest.EndlessComments, http: &idle},
	{fault: hostiletest.RefusesAnswers, http: &well},
	{fault: hostiletest.EndsWithoutAnswer, http: &invalid},
	{fault: hostiletest.BadInputSchema, stdio: &misfit, http: &misfit, lasting: true},
	{fault: hostiletest.InputSchemaAfar, stdio: &misfit, http: &misfit, lasting: true},
	{fault: hostiletest.BadOutputSchema, stdio: &invalid, http: &invalid, lasting: true},
	{fault: hostiletest.OutputSchemaAfar, stdio: &invalid, http: &invalid, lasting: true},
	{fault: hostiletest.HundredThousand, stdio: &ending{router.OutputInvalid, no, ""}, http: &ending{router.OutputInvalid, no, ""}, lasting: true, heavy: true},
	{fault: hostiletest.UnknownEra, stdio: &versions, http: &versions, lasting: true},
	{fault: hostiletest.EndlessTools, stdio: &ending{router.OutputInvalid, no, ""}, http: &ending{router.OutputInvalid, no, ""}, lasting: true, heavy: true},
}

// each runs test for every fault over every transport in every era: those that
// keep the machine busy one after another, the others at once.
func each(t *testing.T, heavy bool, test func(t *testing.T, w way, f hostiletest.Fault, want ending, lasting bool)) {
	for _, m := range misdeeds {
		for _, w := range ways {
			want := m.stdio
			if w.http {
				want = m.http
			}
			if want == nil || m.heavy != heavy {
				continue
			}
			t.Run(string(m.fault)+", "+w.name, func(t *testing.T) {
				if !heavy {
					t.Parallel()
				}
				test(t, w, m.fault, *want, m.lasting)
			})
		}
	}
}

// tried is a call of the tool. Its idle time is short only where it is to run out.
func tried(want ending) router.ToolCall {
	c := router.ToolCall{Tool: "work", Arguments: map[string]any{"n": 1}, Idle: time.Minute, Max: time.Minute}
	switch want.clock {
	case "idle":
		c.Idle = 500 * time.Millisecond
	case "maximum":
		c.Idle, c.Max = 5*time.Second, time.Second
	}
	return c
}

func TestEveryMisdeedIsOneOfTheCodesAndOverInTime(t *testing.T) {
	t.Parallel()
	each(t, false, misbehaves)
}

func TestEveryFloodIsOneOfTheCodesAndOverInTime(t *testing.T) { each(t, true, misbehaves) }

// misbehaves calls a server that does wrong once, and then again.
func misbehaves(t *testing.T, w way, f hostiletest.Fault, want ending, lasting bool) {
	world, afar := hostiletest.NewWorld(t), newElsewhere(t)
	s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: f, Times: 1, World: world.URL, Elsewhere: afar.url})
	c := newClient(t, mcp.Options{Backoff: mcp.Backoff{Base: 10 * time.Millisecond, Cap: 100 * time.Millisecond}})
	_, err := c.Describe(t.Context(), s) // starting it is no part of the clocks below
	begun := time.Now()
	if err == nil {
		_, err = c.Call(t.Context(), s, tried(want))
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("it took %v", took)
	}
	check(t, err, want, s.ID)
	if effects := world.Effects(); want.execution == no && effects > 0 {
		t.Errorf("it took effect %d times, and is said not to have", effects)
	}
	if n := afar.arrived.Load(); n != 0 {
		t.Errorf("%d connections to another host", n)
	}
	if lasting {
		return
	}
	eventually(t, "the server is used again", func() bool {
		_, err = c.Call(t.Context(), s, tried(well))
		return err == nil
	})
}

func check(t *testing.T, err error, want ending, server string) {
	t.Helper()
	if want == well {
		if err != nil {
			t.Errorf("it failed: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("it went well, want %s", want.code)
	}
	e := callError(t, err)
	if e.Code != want.code || e.Execution != want.execution || e.Clock != want.clock {
		t.Errorf("%s, %s, clock %q: %s; want %v", e.Code, e.Execution, e.Clock, e.Message, want)
	}
	if !slices.Contains(codes, e.Code) {
		t.Errorf("%s is none of the codes", e.Code)
	}
	if !strings.Contains(e.Message, server) {
		t.Errorf("the server is not named: %s", e.Message)
	}
	if len(e.Message) > 4<<10 {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
}
