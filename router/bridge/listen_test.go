package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// until reads lines until one has the text; it returns those before it.
func (g *guest) until(text string) (before []string, line string) {
	g.t.Helper()
	for {
		line := g.hear()
		if strings.Contains(line, text) {
			return before, line
		}
		before = append(before, line)
	}
}

// all waits for a line and reads everything that comes with it, as one text.
func (g *guest) all() string {
	g.t.Helper()
	lines := []string{g.hear()}
	for synctest.Wait(); len(g.lines) > 0; synctest.Wait() {
		lines = append(lines, g.hear())
	}
	return strings.Join(lines, "\n")
}

func TestASubscriptionOfTheLaterEraOutlivesTheSession(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		h := houseOf(modern)
		meet(t, nil, func(g *guest) {
			g.begin(true, "")
			g.say(`{"jsonrpc":"2.0","id":"sub 1","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]},"_meta":{` + laterMeta + `}}}`)
			ack := g.hear()
			for _, want := range []string{`"method":"notifications/subscriptions/acknowledged"`, `"toolsListChanged":true`, `["file:///a"]`, `"io.modelcontextprotocol/subscriptionId":"sub 1"`} {
				if !strings.Contains(ack, want) {
					t.Errorf("modern %v: acknowledged by %s, want %s in it", modern, ack, want)
				}
			}
			first := h.visit(t)
			tells(first, modern, "notifications/tools/list_changed", `{}`)
			g.hears(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub 1"}}}`)
			tells(first, modern, "notifications/resources/updated", `{"uri":"file:///a"}`)
			g.hears(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub 1"},"uri":"file:///a"}}`)
			if !modern { // it tells everybody, the client only asked for some
				tells(first, modern, "notifications/prompts/list_changed", `{}`)
				tells(first, modern, "notifications/resources/updated", `{"uri":"file:///b"}`)
			}
			g.silence()

			first.die()
			second := g.all() // what may have been missed, but no other acknowledgement
			if strings.Contains(second, "acknowledged") || !strings.Contains(second, "tools/list_changed") || !strings.Contains(second, `"uri":"file:///a"`) {
				t.Errorf("modern %v: after the reconnect: %s", modern, second)
			}
			g.silence()
			now := h.visit(t)
			if now == first {
				t.Fatal("there is no new session")
			}
			tells(now, modern, "notifications/tools/list_changed", `{}`)
			g.hears(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub 1"}}}`)

			g.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub 1"}}`)
			synctest.Wait()
			tells(now, modern, "notifications/tools/list_changed", `{}`)
			g.silence()
			if got := now.requests(); !modern && !slices.Contains(got, `resources/unsubscribe {"uri":"file:///a"}`) {
				t.Errorf("the server was not told of the end: %q", got)
			}
		}, h)
	}
}

// tells has the server tell of a change, on the subscription where its era has those.
func tells(v *visit, modern bool, method, params string) {
	n := mcp.Notification{Method: method, Params: json.RawMessage(params)}
	if !modern {
		v.events.Notified(n)
		return
	}
	v.mu.Lock()
	streams := slices.Clone(v.streams)
	v.mu.Unlock()
	for _, tell := range streams {
		n.Params = setMember(n.Params, "_meta", json.RawMessage(`{"io.modelcontextprotocol/subscriptionId":77}`))
		tell(n)
	}
}

func TestAnEarlierClientIsToldOfChangesByALaterServer(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		v := h.visit(t)
		want := `subscriptions/listen {"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`
		if got := v.requests(); len(got) != 1 || got[0] != want {
			t.Fatalf("the server was asked %q, want %s", got, want)
		}
		v.streams[0](mcp.Notification{Method: "notifications/tools/list_changed", Params: json.RawMessage(`{"_meta":{"io.modelcontextprotocol/subscriptionId":77}}`)})
		g.hears(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{}}}`)

		g.ask(false, 1, "resources/subscribe", `"uri":"file:///a"`, "")
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		want = `subscriptions/listen {"notifications":{"resourceSubscriptions":["file:///a"]}}`
		if got := v.requests(); !slices.Contains(got, want) {
			t.Fatalf("the server was asked %q, want %s", got, want)
		}
		v.streams[1](mcp.Notification{Method: "notifications/resources/updated", Params: json.RawMessage(`{"uri":"file:///a"}`)})
		g.hears(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`)

		v.die()
		if got := g.all(); !strings.Contains(got, "tools/list_changed") || !strings.Contains(got, `"uri":"file:///a"`) {
			t.Errorf("after the reconnect: %s", got)
		}
		if got := h.visit(t).requests(); !slices.Contains(got, want) {
			t.Errorf("the subscription was not made again: %q", got)
		}
		g.ask(false, 2, "resources/unsubscribe", `"uri":"file:///a"`, "")
		g.hears(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		v = h.visit(t)
		v.die()
		g.all()
		if got := h.visit(t).requests(); slices.Contains(got, want) {
			t.Errorf("a subscription that was taken back was made again: %q", got)
		}
	}, h)
}

func TestALaterServerThatTakesNoSubscriptionOfAResourceIsHeard(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	h.listen = func(_ context.Context, _ *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		return mcp.Reply{Error: &mcp.RPCError{Code: -32602, Message: "no such resource"}}, nil
	}
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		g.ask(false, 1, "resources/subscribe", `"uri":"file:///a"`, "")
		g.hears(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such resource"}}`)
	}, h)
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "")
		g.hears(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such resource"}}`)
	}, h)
}

func TestAStreamThatBreaksIsMadeAgainOnTheSameSession(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	h.listen = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		again := len(v.streams) == 1
		if again {
			return plain(ctx, v, r)
		}
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return plain(short, v, r) // an orderly end of what was granted
	}
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "")
		if got := g.hear(); !strings.Contains(got, "acknowledged") {
			t.Fatal(got)
		}
		g.hears(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`)
		if h.count() != 1 {
			t.Errorf("there were %d sessions", h.count())
		}
		g.silence()
	}, h)
}

func TestAnEarlierServerIsGivenAgainWhatTheClientHadSet(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		g.ask(false, 1, "logging/setLevel", `"level":"debug"`, "")
		g.hear()
		g.ask(false, 2, "resources/subscribe", `"uri":"file:///b"`, "")
		g.hear()
		g.ask(false, 3, "resources/subscribe", `"uri":"file:///a"`, "")
		g.hear()
		g.ask(false, 4, "resources/subscribe", `"uri":"file:///c"`, "")
		g.hear()
		g.ask(false, 5, "resources/unsubscribe", `"uri":"file:///c"`, "")
		g.hear()
		v := h.visit(t)
		v.die()
		all := g.all()
		for _, want := range []string{"tools/list_changed", "prompts/list_changed", "resources/list_changed", "file:///a", "file:///b"} {
			if !strings.Contains(all, want) {
				t.Errorf("the client was not told %s:\n%s", want, all)
			}
		}
		g.ask(false, 6, "tools/list", "", "")
		g.until(`"id":6`)
		want := []string{
			`logging/setLevel {"level":"debug"}`, `resources/subscribe {"uri":"file:///a"}`, `resources/subscribe {"uri":"file:///b"}`,
			`tools/list {}`,
		}
		if got := h.visit(t).requests(); !slices.Equal(got, want) {
			t.Errorf("the new session was asked\n%q\nwant\n%q", got, want)
		}
	}, h)
}

func TestASubscriptionEndsWithItsClientAtOnce(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		h := houseOf(modern)
		meet(t, nil, func(g *guest) {
			g.begin(true, "")
			g.ask(true, 1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "")
			g.hear()
			left := time.Now()
			g.in.Close()
			if got := g.hear(); !strings.Contains(got, `"id":1,"result"`) {
				t.Errorf("modern %v: %s", modern, got)
			}
			if d := time.Since(left); d > time.Second {
				t.Errorf("modern %v: it took %s", modern, d)
			}
		}, h)
	}
}

func TestASubscriptionThatIsRefusedAgainAndAgainHoldsUpNothing(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	h.listen = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		if h.count() > 1 {
			return mcp.Reply{Error: &mcp.RPCError{Code: -32602, Message: "no such resource"}}, nil
		}
		return plain(ctx, v, r)
	}
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		g.ask(false, 1, "resources/subscribe", `"uri":"file:///a"`, "")
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		for range 3 {
			h.visit(t).die()
			lapse(time.Minute)
		}
		g.all()
		g.ask(false, 2, "tools/list", "", "")
		g.until(`"id":2`)
	}, h)
}
