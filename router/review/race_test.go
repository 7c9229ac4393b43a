package review_test

import (
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/review"
	"junction/state"
)

func TestEveryRaceHasOneWinner(t *testing.T) {
	t.Parallel()
	for _, k := range []review.Kind{review.Stdio, review.HTTP, review.LegacyHTTP} {
		races := review.Races(k)
		for _, r := range races {
			won, cut := r.Status == state.CallSuccess, r.Code == router.Cancelled || r.Code == router.Timeout
			switch {
			case won != (r.Final == review.TheResult), won != (r.Code == ""):
				t.Errorf("%s, %s: %s with %s", k, r.Order, r.Terminal(), r.Final)
			case (r.Wire == review.NoSignal) == (cut && r.Execution == state.Unknown):
				t.Errorf("%s, %s: %s and the server sees %s", k, r.Order, r.Terminal(), r.Wire)
			case r.Wire != review.NoSignal && r.Wire != k.Cancel():
				t.Errorf("%s, %s: cancelled by %s", k, r.Order, r.Wire)
			}
		}
		if n := slices.IndexFunc(races, func(r review.Race) bool { return r.Order == review.MaximumReport }); races[n].Terminal() != "timeout (MCP_TIMEOUT, maximum, unknown)" {
			t.Errorf("%q", races[n].Terminal())
		}
	}
}

func TestTheWayACallIsCancelledFollowsTransportAndEra(t *testing.T) {
	t.Parallel()
	child, remote := &router.Server{Dial: router.Dial{Command: "x"}}, &router.Server{Dial: router.Dial{URL: "http://x"}}
	for _, c := range []struct {
		server *router.Server
		modern bool
		want   review.Signal
	}{
		{child, true, review.Notice}, {child, false, review.Notice}, {remote, true, review.StreamClosed}, {remote, false, review.StreamNotice},
	} {
		if got := review.KindOf(c.server, &router.Description{Modern: c.modern}).Cancel(); got != c.want {
			t.Errorf("%+v, modern %t: %s", c.server.Dial, c.modern, got)
		}
	}
}

func TestRecoveryIsAPlanBeforeItIsDone(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		rv := review.New(shop(func(in *router.Inspection, _ *router.Terms) {
			in.Server.Dial = router.Dial{URL: "https://shop.example/mcp"}
			in.Description.Modern = modern
		}), review.Settings{Client: bounds(t)})
		r := rv.Recovery
		want := []string{"initialize", "tools/list"}
		if modern {
			want[0] = "server/discover"
		}
		if !slices.Equal(r.Reread, want) || r.SendLastEventID || (r.Subscription != nil) != modern {
			t.Errorf("%+v", r)
		}
		if s := r.Subscription; s != nil && (s.SendLastEventID || !s.NewID || s.Wait >= 250*time.Millisecond || !slices.Contains(s.Reread, "tools/list")) {
			t.Errorf("%+v", s)
		}
	}
	if b := bounds(t).Backoff; b != (mcp.Backoff{Base: 250 * time.Millisecond, Cap: 8 * time.Second, Seed: b.Seed}) {
		t.Errorf("back-off %+v", b)
	}
}
