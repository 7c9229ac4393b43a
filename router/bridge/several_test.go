package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// shop is a house with tools, prompts, resources and templates, of these names.
type shop struct {
	*house
	tools, prompts, resources, templates []string
}

func newShop(name string, modern bool, tools ...string) *shop {
	s := &shop{house: houseOf(modern), tools: tools}
	s.name, s.answer = name, s.serve
	s.document = strings.Replace(s.document, `"Ask me."`, `"Ask `+name+`."`, 1)
	return s
}

// serve answers lists; a call with what the shop was asked.
func (s *shop) serve(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
	lists := map[string]struct {
		member, key string
		items       []string
	}{
		"tools/list":               {"tools", "name", s.tools},
		"prompts/list":             {"prompts", "name", s.prompts},
		"resources/list":           {"resources", "uri", s.resources},
		"resources/templates/list": {"resourceTemplates", "uriTemplate", s.templates},
	}
	l, isList := lists[r.Method]
	if !isList {
		reply, fail := plain(ctx, v, r)
		if fail == nil && reply.Error == nil {
			reply.Result = setMember(reply.Result, "by", quote(s.name))
		}
		return reply, fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []json.RawMessage{}
	for _, i := range l.items {
		items = append(items, json.RawMessage(fmt.Sprintf(`{"big":12345678901234567890,%q:%q,"of":%q}`, l.key, i, s.name)))
	}
	// Two to a page.
	from := 0
	if cursor := textIn(r.Params, "cursor"); cursor != "" {
		from = len(cursor)
	}
	page := map[string]any{l.member: items[from:min(from+2, len(items))]}
	if from+2 < len(items) {
		page["nextCursor"] = strings.Repeat("c", from+2)
	}
	if v.modern {
		page["resultType"] = "complete"
	}
	return mcp.Reply{Result: marshal(page)}, nil
}

func (s *shop) stock(tools ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (s *shop) server() Server { return Server{Name: s.name, Open: s.open, Effect: s.effect} }

// market runs a bridge over several shops, with a client.
func market(t *testing.T, play func(b *Bridge, g *guest), shops ...*shop) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var servers []Server
		for _, s := range shops {
			servers = append(servers, s.server())
		}
		b := NewSeveral(servers, &Options{Logger: slog.New(slog.DiscardHandler), PingInterval: -1, Backoff: mcp.Backoff{Seed: 1}})
		host(t, b, func(g *guest) { play(b, g) })
	})
}

// names asks for a list, all pages of it, and returns what it names.
func (g *guest) names(modern bool, method, member, key string) []string {
	g.t.Helper()
	names := []string{}
	more := ""
	for n := 100; ; n++ {
		g.ask(modern, n, method, more, "")
		var reply struct {
			ID     int
			Method string
			Result map[string]json.RawMessage
			Error  *mcp.RPCError
		}
		for reply.ID != n { // past notifications
			reply.Method, reply.ID = "", 0
			if err := json.Unmarshal([]byte(g.hear()), &reply); err != nil {
				g.t.Fatal(err)
			}
		}
		if reply.Error != nil {
			g.t.Fatalf("%s: %+v", method, reply.Error)
		}
		var items []json.RawMessage
		if err := json.Unmarshal(reply.Result[member], &items); err != nil {
			g.t.Fatalf("%s: %v in %s", method, err, reply.Result)
		}
		for _, i := range items {
			if !strings.Contains(string(i), "12345678901234567890") {
				g.t.Errorf("%s is not as it was written", i)
			}
			names = append(names, textIn(i, key))
		}
		cursor := reply.Result["nextCursor"]
		if cursor == nil {
			return names
		}
		more = `"cursor":` + string(cursor)
	}
}

func (g *guest) tools(modern bool) []string { return g.names(modern, "tools/list", "tools", "name") }

// next is the next line that is no notification.
func (g *guest) next() string {
	for {
		if line := g.hear(); !strings.Contains(line, `"method":"notifications/`) {
			return line
		}
	}
}

func (g *guest) says(want ...string) string {
	g.t.Helper()
	line := g.next()
	for _, w := range want {
		if !strings.Contains(line, w) {
			g.t.Errorf("the client read\n %s\nwithout %s", line, w)
		}
	}
	return line
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSeveralServersAreOneListAndEachToolFindsItsOwn(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		a, b := newShop("alpha", false, "read", "search", "write"), newShop("beta", true, "search", "sum")
		market(t, func(_ *Bridge, g *guest) {
			if !modern {
				g.greet(`{}`)
			}
			same(t, g.tools(modern), "read", "alpha__search", "write", "beta__search", "sum")
			g.ask(modern, 1, "tools/call", `"name":"beta__search","arguments":{"n":12345678901234567890}`, "")
			g.says(`"by":"beta"`, `"name":"search"`, `12345678901234567890`)
			g.ask(modern, 2, "tools/call", `"name":"read"`, "")
			g.says(`"by":"alpha"`, `"name":"read"`)
			g.ask(modern, 3, "tools/call", `"name":"search"`, "")
			g.says(`"code":-32602`, `no tool \"search\"`)
			g.ask(modern, 4, "tools/call", `"name":"alpha__write"`, "") // not shown, and means one thing
			g.says(`"by":"alpha"`, `"name":"write"`)
		}, b, a)
	}
}

func TestACallBeforeAnyListFindsItsServer(t *testing.T) {
	t.Parallel()
	market(t, func(_ *Bridge, g *guest) {
		g.greet(`{}`)
		g.ask(false, 1, "tools/call", `"name":"sum"`, "")
		g.says(`"by":"beta"`)
	}, newShop("alpha", false, "read"), newShop("beta", false, "sum"))
}

func TestSeveralServersIntroduceThemselvesTogether(t *testing.T) {
	t.Parallel()
	a, b := newShop("alpha", false), newShop("beta", true)
	a.document = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"x","version":"1"},"instructions":"Ask alpha."}`
	market(t, func(_ *Bridge, g *guest) {
		g.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		line := g.says(`"name":"junction"`, `alpha: Ask alpha.\n\nbeta: Ask beta.`, `"tools":{"listChanged":true}`, `"prompts":{"listChanged":true}`, `"subscribe":true`, `"logging":{}`, `"dev.example/x":{}`)
		if strings.Contains(line, "tasks") {
			t.Errorf("it declares tasks: %s", line)
		}
	}, a, b)
}

func TestOneServerThatIsAwayOrHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	a, b, c := newShop("alpha", false, "read"), newShop("beta", false, "sum"), newShop("gamma", false, "paint")
	b.lock()
	hung := c.answer
	var hang atomic.Bool
	hang.Store(true)
	c.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		if hang.Load() {
			<-ctx.Done()
			return mcp.Reply{}, failure(router.Cancelled, state.Unknown, "cancelled")
		}
		return hung(ctx, v, r)
	}
	market(t, func(_ *Bridge, g *guest) {
		begun := time.Now()
		g.greet(`{}`)
		if took := time.Since(begun); took > listWait+time.Second {
			t.Errorf("the greeting took %s", took)
		}
		begun = time.Now()
		same(t, g.tools(false), "read")
		if took := time.Since(begun); took > listWait {
			t.Errorf("the list took %s", took)
		}
		begun = time.Now()
		g.ask(false, 1, "tools/call", `"name":"read"`, "")
		g.says(`"by":"alpha"`)
		if took := time.Since(begun); took > 0 {
			t.Errorf("a call to one that is here took %s", took)
		}
		g.ask(false, 2, "tools/call", `"name":"sum"`, "")
		g.says(`"code":-32602`, "server beta is away", "connection refused")

		b.unlock()
		hang.Store(false)
		pass(time.Minute)
		if line := g.hear(); !strings.Contains(line, "list_changed") {
			t.Errorf("the client heard %s, want that its lists have changed", line)
		}
		same(t, g.tools(false), "read", "sum", "paint")

		b.visit(t).die() // what it listed stays, and waits for it
		b.lock()
		pass(10 * time.Second)
		same(t, g.tools(false), "read", "sum", "paint")
		g.ask(false, 3, "tools/call", `"name":"sum"`, "")
		synctest.Wait()
		b.unlock()
		g.says(`"by":"beta"`)
	}, a, b, c)
}

func TestAListThatComesTooLateIsAnnounced(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		a, b := newShop("alpha", false, "read"), newShop("beta", false, "sum")
		serve := b.answer
		b.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
			if r.Method == "tools/list" {
				pass(5 * time.Second)
			}
			return serve(ctx, v, r)
		}
		market(t, func(_ *Bridge, g *guest) {
			if modern {
				g.ask(true, 9, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "")
				if line := g.hear(); !strings.Contains(line, `"notifications/subscriptions/acknowledged"`) || !strings.Contains(line, `subscriptionId":9`) {
					t.Errorf("not acknowledged: %s", line)
				}
			} else {
				g.greet(`{}`)
			}
			same(t, g.tools(modern), "read")
			line := g.hear()
			if !strings.Contains(line, "tools/list_changed") || modern && !strings.Contains(line, `subscriptionId":9`) {
				t.Errorf("the client heard %s", line)
			}
			pass(3 * time.Second)
			if !modern {
				synctest.Wait()
			}
		}, a, b)
	}
}

func TestServersComeGoAndChangeWhileTheClientIsThere(t *testing.T) {
	t.Parallel()
	a, b := newShop("alpha", false, "read"), newShop("beta", false, "read", "sum")
	market(t, func(over *Bridge, g *guest) {
		g.greet(`{}`)
		same(t, g.tools(false), "read")

		over.Update([]Server{a.server(), b.server()})
		if line := g.hear(); !strings.Contains(line, "list_changed") {
			t.Errorf("a server came: %s", line)
		}
		same(t, g.tools(false), "alpha__read", "beta__read", "sum")
		g.ask(false, 1, "tools/call", `"name":"read"`, "") // as the client knew it
		g.says(`"by":"alpha"`)

		b.stock("read", "sum", "mean")
		b.visit(t).events.Notified(mcp.Notification{Method: "notifications/tools/list_changed"})
		g.awaits("tools/list_changed")
		same(t, g.tools(false), "alpha__read", "beta__read", "sum", "mean")

		over.Update([]Server{b.server()})
		g.awaits("list_changed")
		same(t, g.tools(false), "read", "sum", "mean")
		g.ask(false, 2, "tools/call", `"name":"read"`, "")
		g.says(`"by":"beta"`)
		over.Update(nil)
		g.awaits("list_changed")
		same(t, g.tools(false))
	}, a)
}

// awaits reads on to a line that says so.
func (g *guest) awaits(word string) {
	g.t.Helper()
	for !strings.Contains(g.hear(), word) {
	}
}
