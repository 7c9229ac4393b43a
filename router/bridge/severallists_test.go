package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestResourcesAreFoundByURIAndPromptsByName(t *testing.T) {
	t.Parallel()
	a, b := newShop("alpha", false), newShop("beta", false)
	a.resources, b.resources = []string{"file:///one", "file:///both"}, []string{"file:///two", "file:///both", "file:///three"}
	a.templates, b.templates = []string{"log://{day}"}, []string{"log://today/{hour}", "db://{table}/rows"}
	a.prompts, b.prompts = []string{"greet"}, []string{"greet", "part"}
	market(t, func(_ *Bridge, g *guest) {
		g.greet(`{}`)
		same(t, g.names(false, "resources/list", "resources", "uri"), "file:///one", "file:///both", "file:///two", "file:///three")
		same(t, g.names(false, "resources/templates/list", "resourceTemplates", "uriTemplate"), "log://{day}", "log://today/{hour}", "db://{table}/rows")
		same(t, g.names(false, "prompts/list", "prompts", "name"), "alpha__greet", "beta__greet", "part")
		for i, c := range []struct{ method, params, by string }{
			{"resources/read", `"uri":"file:///both"`, "alpha"},
			{"resources/read", `"uri":"file:///two"`, "beta"},
			{"resources/read", `"uri":"log://monday"`, "alpha"},
			{"resources/read", `"uri":"log://today/9"`, "beta"},
			{"resources/read", `"uri":"db://users/rows"`, "beta"},
			{"resources/subscribe", `"uri":"file:///two"`, "beta"},
			{"resources/unsubscribe", `"uri":"file:///two"`, "beta"},
			{"prompts/get", `"name":"beta__greet"`, "beta"},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"beta__greet"},"argument":{}`, "beta"},
			{"completion/complete", `"ref":{"type":"ref/resource","uri":"db://{table}/rows"},"argument":{}`, "beta"},
		} {
			g.ask(false, i+1, c.method, c.params, "")
			line := g.says(`"by":"` + c.by + `"`)
			if strings.Contains(line, "__") {
				t.Errorf("the server got a name of the bridge's: %s", line)
			}
		}
		g.ask(false, 50, "resources/read", `"uri":"mail://x"`, "")
		g.says(`"code":-32002`)
		g.ask(false, 51, "completion/complete", `"ref":{"type":"ref/prompt","name":"none"}`, "")
		g.says(`"code":-32602`)
		g.ask(false, 52, "tasks/get", `"taskId":"x"`, "")
		g.says(`"code":-32601`)
	}, a, b)
}

func TestTheLevelOfMessagesGoesToAllAndToThoseWhoComeLater(t *testing.T) {
	t.Parallel()
	a, b := newShop("alpha", false), newShop("beta", false)
	b.lock()
	market(t, func(_ *Bridge, g *guest) {
		g.greet(`{}`)
		g.ask(false, 1, "logging/setLevel", `"level":"warning"`, "")
		g.says(`"id":1,"result":{}`)
		g.ask(false, 2, "logging/setLevel", `"level":"loud"`, "")
		g.says(`"code":-32602`)
		b.unlock()
		pass(time.Minute)
		for _, s := range []*shop{a, b} {
			if got := s.visit(t).requests(); !slices.Contains(got, `logging/setLevel {"level":"warning"}`) {
				t.Errorf("%s was asked %q", s.name, got)
			}
		}
	}, a, b)
}

func TestALaterClientHearsOfAllServersUnderItsOneSubscription(t *testing.T) {
	t.Parallel()
	a, b := newShop("alpha", false), newShop("beta", true)
	a.resources = []string{"file:///one"}
	market(t, func(_ *Bridge, g *guest) {
		g.ask(true, 1, "server/discover", "", "")
		g.says(`"supportedVersions"`)
		g.names(true, "resources/list", "resources", "uri")
		g.ask(true, 2, "subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///one"]}`, "")
		acks := 0
		synctest.Wait()
		for len(g.lines) > 0 {
			if strings.Contains(<-g.lines, "acknowledged") {
				acks++
			}
		}
		if acks != 1 {
			t.Errorf("%d acknowledgements", acks)
		}
		if got := a.visit(t).requests(); !slices.Contains(got, `resources/subscribe {"uri":"file:///one"}`) {
			t.Errorf("alpha was asked %q", got)
		}
		if got := strings.Join(b.visit(t).requests(), "\n"); strings.Contains(got, "file:///one") || !strings.Contains(got, "subscriptions/listen") {
			t.Errorf("beta was asked %s", got)
		}
		a.visit(t).events.Notified(mcp.Notification{Method: "notifications/resources/updated", Params: json.RawMessage(`{"uri":"file:///one"}`)})
		if line := g.hear(); !strings.Contains(line, "file:///one") || !strings.Contains(line, `subscriptionId":2`) {
			t.Errorf("the client heard %s", line)
		}
		g.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		g.silence()
	}, a, b)
}

func TestALongListHasPagesOfOurOwn(t *testing.T) {
	t.Parallel()
	var many []string
	for n := range 150 {
		many = append(many, fmt.Sprintf("t%03d", n))
	}
	var shops []*shop
	for _, name := range []string{"a", "b", "c", "d"} {
		shops = append(shops, newShop(name, false, many...))
	}
	market(t, func(_ *Bridge, g *guest) {
		g.greet(`{}`)
		got := g.tools(false)
		if len(got) != 600 || got[0] != "a__t000" || got[599] != "d__t149" {
			t.Errorf("%d tools, %q to %q", len(got), got[0], got[len(got)-1])
		}
		for i, cursor := range []string{"", "1", "99-500", "1-700", "1--1", "x-y"} {
			g.ask(false, i+1, "tools/list", `"cursor":`+string(quote(cursor)), "")
			g.says(`"code":-32602`)
		}
	}, shops...)
}

func TestHintsCountAsEffectsOnceTheyWereRead(t *testing.T) {
	t.Parallel()
	var h Hints
	s := h.Learn(&visit{house: &house{answer: func(context.Context, *visit, *mcp.Request) (mcp.Reply, *router.CallError) {
		return mcp.Reply{Result: json.RawMessage(`{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"put","annotations":{"idempotentHint":true}},{"name":"add"}]}`)}, nil
	}}, gone: make(chan struct{})})
	if e := h.Effect("read", false); e != state.Unsafe {
		t.Errorf("before the list: %s", e)
	}
	if _, fail := s.Do(t.Context(), &mcp.Request{Method: "tools/list"}); fail != nil {
		t.Fatal(fail)
	}
	for _, c := range []struct {
		tool      string
		elsewhere bool
		want      state.Effect
	}{{"read", true, state.Safe}, {"put", false, state.Safe}, {"put", true, state.Unsafe}, {"add", false, state.Unsafe}} {
		if e := h.Effect(c.tool, c.elsewhere); e != c.want {
			t.Errorf("%s, elsewhere %v: %s", c.tool, c.elsewhere, e)
		}
	}
}
