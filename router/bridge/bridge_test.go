package bridge

import (
	"strings"
	"testing"
	"time"
)

func TestAServerIsShownAsItIs(t *testing.T) {
	t.Parallel()
	meet(t, nil, func(g *guest) {
		g.say(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"editor","version":"3"}}}`)
		g.hears(`{"jsonrpc":"2.0","id":"a","result":` + earlierDocument + `}`)
	}, earlierHouse())
	meet(t, nil, func(g *guest) {
		g.ask(true, 1, "server/discover", "", "")
		want := strings.Replace(laterDocument, `["2026-07-28"]`, `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`, 1)
		g.hears(`{"jsonrpc":"2.0","id":1,"result":` + want + `}`)
	}, laterHouse())
}

func TestAServerOfAnotherEraIsShownInTheClients(t *testing.T) {
	t.Parallel()
	meet(t, nil, func(g *guest) {
		g.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"3"}}}`)
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"extensions":{"dev.example/x":{}}},"serverInfo":{"name":"new","version":"2"},"instructions":"Ask me."}}`)
	}, laterHouse())
	meet(t, nil, func(g *guest) {
		g.ask(true, 1, "server/discover", "", "")
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"completions":{},"experimental":{"x":{"n":12345678901234567890}}},"instructions":"Ask me.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}}}`)
	}, earlierHouse())
}

func TestTheVersionIsOneThatBothKnow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, client, want string }{
		{"2025-11-25", "2025-11-25", "2025-11-25"},
		{"2025-11-25", "2025-03-26", "2025-03-26"},
		{"2024-11-05", "2025-11-25", "2024-11-05"}, // the client decides whether it speaks that
		{"2025-06-18", "1999-01-01", "2025-06-18"},
		{"2025-06-18", "2099-01-01", "2025-06-18"},
	} {
		h := earlierHouse()
		h.document = strings.Replace(earlierDocument, "2025-11-25", c.server, 1)
		meet(t, nil, func(g *guest) {
			g.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + c.client + `","capabilities":{}}}`)
			if got := g.hear(); !strings.Contains(got, `"protocolVersion":"`+c.want+`"`) {
				t.Errorf("server %s, client %s: %s", c.server, c.client, got)
			}
		}, h)
	}
}

func TestAVersionThatNobodyKnowsIsRefusedWithThoseThatAre(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	meet(t, nil, func(g *guest) {
		g.say(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		g.hears(`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the protocol version \"2099-01-01\" is not supported","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}}}`)
		g.greet(`{}`) // and may fall back to the earlier era
		g.ask(false, 2, "tools/list", "", "")
		g.hears(`{"jsonrpc":"2.0","id":2,"result":{"method":"tools/list","params":{}}}`)
	}, h)
	if n := len(h.greetings); n != 1 {
		t.Errorf("the server was opened %d times, want once, after the fallback", n)
	}
}

func TestWhoDoesNotSayWhoItIsIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"no handshake":    {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"code":-32600`},
		"no version":      {`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`, `"code":-32602`},
		"no capabilities": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `"code":-32602`},
	} {
		h := earlierHouse()
		meet(t, nil, func(g *guest) {
			g.say(c.line)
			if got := g.hear(); !strings.Contains(got, c.want) {
				t.Errorf("%s: %s", name, got)
			}
		}, h)
		if h.count() != 0 {
			t.Errorf("%s: the server was opened", name)
		}
	}
}

func TestServersAreToldTheErasThatNeedNoTranslation(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		h := earlierHouse()
		meet(t, nil, func(g *guest) { g.begin(later, `{}`) }, h)
		if len(h.greetings) != 1 || h.greetings[0].Earlier == later {
			t.Errorf("client later %v: %+v", later, h.greetings)
		}
	}
}

func TestPingAsksAfterTheBridge(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	h.lock()
	meet(t, nil, func(g *guest) {
		g.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	}, h)
}

func TestABridgeIntroducesItselfForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		for _, modern := range []bool{false, true} {
			h := houseOf(modern)
			h.lock()
			meet(t, &Options{Version: "1.2.3"}, func(g *guest) {
				began := time.Now()
				if later {
					g.ask(true, 0, "server/discover", "", "")
				} else {
					g.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
				}
				got := g.hear()
				for _, want := range []string{`{"name":"junction","version":"1.2.3"}`, "server docs is away since ", "connection refused", `"prompts":{"listChanged":true}`} {
					if !strings.Contains(got, want) {
						t.Errorf("later %v, modern %v: %s lacks %s", later, modern, got, want)
					}
				}
				if d := time.Since(began); d != 10*time.Second {
					t.Errorf("it took %s", d)
				}
				if later {
					g.ask(true, 1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "")
				} else {
					g.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				}
				g.silence()
				h.unlock()
				var seen []string
				for want := map[bool]int{false: 3, true: 2}[later]; len(seen) < want; {
					seen = append(seen, g.hear())
				}
				all := strings.Join(seen, "\n")
				if !strings.Contains(all, "notifications/tools/list_changed") {
					t.Errorf("later %v, modern %v: the client was not told:\n%s", later, modern, all)
				}
				if !later && (!strings.Contains(all, "prompts/list_changed") || !strings.Contains(all, "resources/list_changed")) {
					t.Errorf("modern %v: not of all: %s", modern, all)
				}
			}, h)
		}
	}
}

func TestTheServerIsToldWhoTheClientIs(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	meet(t, nil, func(g *guest) {
		g.greet(`{"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{},"dev.example/y":{}}}`)
	}, h)
	g := h.greetings[0]
	if string(g.ClientInfo) != `{"name":"editor","version":"3"}` || string(g.Capabilities) != `{"sampling":{},"extensions":{"dev.example/y":{}}}` {
		t.Errorf("greeted by %s with %s", g.ClientInfo, g.Capabilities)
	}
}
