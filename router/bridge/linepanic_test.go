package bridge

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// A request that cannot be written costs itself alone, whoever was to have it leave.
func TestARequestWhoseWritingPanicsFailsAndHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, queued := range map[string]bool{"by who brings it": false, "by the keeper": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := lineTo(t, &LineOptions{PingInterval: -1})
				if !queued {
					if _, e := l.Ready(t.Context()); e != nil {
						t.Fatal(e)
					}
				}
				bad := &trial{method: "bad", done: make(chan struct{})}
				bad.wait = l.Begin(t.Context(), &Request{Method: "bad", Again: true, Make: func(Session) *mcp.Request { panic("no such form") }})
				bad.awaited()
				b := begin(t, l, "b", false)
				v := s.session(1)
				v.of("b").answer <- says("b")
				b.answered(t)
				e := bad.failed(t, router.CapabilityMismatch, state.NotExecuted)
				if strings.Contains(e.Message, "no such form") {
					t.Errorf("the client is told %q", e.Message)
				}
				if got := v.methods(); !slices.Equal(got, []string{"b"}) {
					t.Errorf("sent were %v", got)
				}
				began := time.Now()
				l.Close(context.Background())
				if took := time.Since(began); took != 0 {
					t.Errorf("closing took %s", took)
				}
			})
		})
	}
}

func TestACancelledRequestThatHadNotLeftIsSaidNotToHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := connected(t, &LineOptions{}, func(v *stand) { v.full = true })
		a := taken(t, l, "a", false)
		a.cancel()
		if e := a.awaited().failed(t, router.Cancelled, state.NotExecuted); !strings.HasSuffix(e.Message, "it was not sent") {
			t.Errorf("the message is %q", e.Message)
		}
	})
}
