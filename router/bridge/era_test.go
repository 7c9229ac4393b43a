package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"junction/router"
	"junction/router/mcp"
)

func TestBetweenPeersOfOneEraEverythingPassesAsItIs(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		h := houseOf(modern)
		odd := `{"z":1.50,"a":12345678901234567890,"resultType":"dev.example/odd","_meta":{"x/y":[]}}`
		var got string
		h.answer = func(_ context.Context, _ *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
			got = r.Method + " " + string(r.Params)
			if strings.Contains(got, "fails") {
				return mcp.Reply{Error: &mcp.RPCError{Code: -31999, Message: "no", Data: json.RawMessage(`{"n":12345678901234567890}`)}}, nil
			}
			return mcp.Reply{Result: json.RawMessage(odd)}, nil
		}
		meet(t, nil, func(g *guest) {
			g.begin(modern, `{}`)
			for i, method := range []string{"tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/get", "dev.example/unknown"} {
				g.ask(modern, i+1, method, `"name":"x","n":1.50`, `"k/v":1`)
				g.hears(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i+1, odd))
				meta := `"k/v":1`
				if modern {
					meta = laterMeta + "," + meta
				}
				if want := method + ` {"name":"x","n":1.50,"_meta":{` + meta + `}}`; got != want {
					t.Errorf("the server got\n %s\nwant\n %s", got, want)
				}
			}
			g.ask(modern, 99, "fails", "", "")
			g.hears(`{"jsonrpc":"2.0","id":99,"error":{"code":-31999,"message":"no","data":{"n":12345678901234567890}}}`)
		}, h)
	}
}

func TestAResultOfTheLaterEraLosesItsTypeForAnEarlierClient(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	h.answer = func(context.Context, *visit, *mcp.Request) (mcp.Reply, *router.CallError) {
		return mcp.Reply{Result: json.RawMessage(`{"z":1.50, "resultType":"complete","content":[{"type":"text","text":"a \"resultType\" b"}]}`)}, nil
	}
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		g.ask(false, 1, "tools/call", `"name":"x"`, "")
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{"z":1.50,"content":[{"type":"text","text":"a \"resultType\" b"}]}}`)
	}, h)
}

func TestAResultOfTheEarlierEraGetsWhatALaterClientWants(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	h.answer = func(_ context.Context, _ *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		if r.Method == "tools/list" {
			return mcp.Reply{Result: json.RawMessage(`{"tools":[],"_meta":{"a/b":1}}`)}, nil
		}
		return mcp.Reply{Result: json.RawMessage(`{"content":[],"isError":true}`)}, nil
	}
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "tools/list", "", "")
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"},"a/b":1}}}`)
		g.ask(true, 2, "tools/call", `"name":"x"`, "")
		g.hears(`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}},"content":[],"isError":true}}`)
	}, h)
}

func TestWhatTheLaterEraHasNoMoreIsNotThere(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/result"} {
		h := earlierHouse()
		meet(t, nil, func(g *guest) {
			g.begin(true, "")
			g.ask(true, 1, method, "", "")
			if got := g.hear(); !strings.Contains(got, `"code":-32601`) {
				t.Errorf("%s: %s", method, got)
			}
		}, h)
	}
}

func TestALevelOfMessagesGoesIntoEachRequestOfTheLaterEra(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		g.ask(false, 1, "logging/setLevel", `"level":"warning"`, "")
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		g.ask(false, 2, "tools/call", `"name":"x"`, "")
		g.hears(`{"jsonrpc":"2.0","id":2,"result":{"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/logLevel":"warning"},"name":"x"}}}`)
		h.visit(t).events.Notified(mcp.Notification{Method: "notifications/message", Params: json.RawMessage(`{"level":"error","data":1}`)})
		g.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}`)
	}, h)
}

func TestMessagesOfAnEarlierServerReachOnlyALaterClientThatWantsThemNow(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	var release chan struct{}
	h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		if r.Method == "tools/call" {
			<-release
		}
		return plain(ctx, v, r)
	}
	message := func(level string) mcp.Notification {
		return mcp.Notification{Method: "notifications/message", Params: json.RawMessage(`{"level":"` + level + `","data":1}`)}
	}
	meet(t, nil, func(g *guest) {
		release = make(chan struct{})
		g.begin(true, "")
		v := h.visit(t)
		v.events.Notified(message("emergency"))
		g.ask(true, 1, "tools/call", `"name":"x"`, `"io.modelcontextprotocol/logLevel":"warning"`)
		if got := strings.Join(v.requests(), "\n"); !strings.Contains(got, `logging/setLevel {"level":"warning"}`) {
			t.Errorf("the server was not told the level:\n%s", got)
		}
		v.events.Notified(message("info"))
		v.events.Notified(message("error"))
		g.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}`)
		close(release)
		g.hear()
		v.events.Notified(message("error"))
		g.silence()
	}, h)
}

func TestTheClientsNotificationsPassInItsEra(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"roots":{"listChanged":true}}`)
		v := h.visit(t)
		g.say(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		g.say(`{"jsonrpc":"2.0","method":"dev.example/noted","params":{"n":1.50}}`)
		if got := strings.Join(v.notes(), "; "); got != `notifications/roots/list_changed; dev.example/noted {"n":1.50}` {
			t.Errorf("the server was told %s", got)
		}
	}, h)
	later := laterHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"roots":{}}`)
		v := later.visit(t)
		g.say(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		if got := v.notes(); len(got) > 0 {
			t.Errorf("a server of the later era was told %s", got)
		}
	}, later)
}

func TestACancelReachesTheServerInAllEras(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		for _, modern := range []bool{false, true} {
			h := houseOf(modern)
			var cancelled chan struct{}
			h.answer = func(ctx context.Context, _ *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
				<-ctx.Done()
				close(cancelled)
				return mcp.Reply{}, nil
			}
			meet(t, nil, func(g *guest) {
				cancelled = make(chan struct{})
				g.begin(later, `{}`)
				g.ask(later, 1, "tools/call", `"name":"x"`, "")
				h.visit(t)
				g.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
				<-cancelled
				g.silence() // what was cancelled is not answered
			}, h)
		}
	}
}

func TestProgressComesUnderTheClientsTokenRisesAndEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		for _, modern := range []bool{false, true} {
			h := houseOf(modern)
			h.effect = safely
			var after func(json.RawMessage)
			first := true
			h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
				for _, params := range []string{`{"progress":1,"total":4,"message":"m"}`, `{"progress":2}`, `{"progress":1.5}`, `{"progress":2}`} {
					r.Progress(json.RawMessage(params))
				}
				if first {
					first = false
					<-ctx.Done() // the session is lost
					return mcp.Reply{}, nil
				}
				r.Progress(json.RawMessage(`{"progress":3}`))
				after = r.Progress
				return plain(ctx, v, r)
			}
			meet(t, nil, func(g *guest) {
				g.begin(later, `{}`)
				g.ask(later, 1, "tools/call", `"name":"x"`, `"progressToken":"mine"`)
				h.visit(t).die()
				var got []string
				for len(got) == 0 || !strings.Contains(got[len(got)-1], `"id":1`) {
					if line := g.hear(); !strings.Contains(line, "list_changed") {
						got = append(got, line)
					}
				}
				after(json.RawMessage(`{"progress":9}`))
				want := []string{
					`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1,"total":4,"message":"m"}}`,
					`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":2}}`,
					`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":3}}`,
				}
				if had := strings.Join(got[:len(got)-1], "\n"); had != strings.Join(want, "\n") && had != strings.Join(want[1:], "\n") && had != want[2] {
					t.Errorf("later %v, modern %v:\n%s", later, modern, had) // reports that were not read yet give way to newer ones
				}
				g.silence()
			}, h)
		}
	}
}
