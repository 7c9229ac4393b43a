package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func safely(string) (state.Effect, string) { return state.Safe, "" }

func TestOnlyWhatMayBeRepeatedIs(t *testing.T) {
	t.Parallel()
	effect := func(tool string) (state.Effect, string) {
		switch tool {
		case "look":
			return state.Safe, ""
		case "book":
			return state.Conditional, "key"
		case "bill":
			return state.Conditional, "_meta.dev.example/key"
		case "lax":
			return state.Conditional, ""
		}
		return state.Unsafe, ""
	}
	for _, c := range []struct {
		method, params string
		want           bool
	}{
		{"tools/list", `{}`, true},
		{"prompts/get", `{}`, true},
		{"resources/read", `{}`, true},
		{"completion/complete", `{}`, true},
		{"tasks/get", `{}`, true},
		{"tasks/update", `{}`, false},
		{"dev.example/unknown", `{}`, false},
		{"tools/call", `{"name":"look"}`, true},
		{"tools/call", `{"name":"deploy"}`, false},
		{"tools/call", `{}`, false},
		{"tools/call", `{"name":"book","arguments":{"key":"k"}}`, true},
		{"tools/call", `{"name":"book","arguments":{"key":""}}`, false},
		{"tools/call", `{"name":"book","arguments":{"key":null}}`, false},
		{"tools/call", `{"name":"book","_meta":{"key":"k"}}`, false},
		{"tools/call", `{"name":"book"}`, false},
		{"tools/call", `{"name":"bill","_meta":{"dev.example/key":7}}`, true},
		{"tools/call", `{"name":"bill","arguments":{"dev.example/key":7}}`, false},
		{"tools/call", `{"name":"lax","arguments":{"":"k"}}`, false},
		{"tools/call", `{"name":"look","name":"deploy"}`, false},
		{"tools/call", `{"name":"look","\u004eame":"deploy"}`, false},
		{"tools/call", `{"name":"book","arguments":{"key":"k"},"Arguments":{}}`, false},
		{"tools/call", `{"name":"book","arguments":{"key":"k","KEY":""}}`, false},
	} {
		a := &asked{method: c.method, params: json.RawMessage(c.params), tool: textIn(json.RawMessage(c.params), "name")}
		if _, again := effectOf(a, effect); again != c.want {
			t.Errorf("%s %s: again %v, want %v", c.method, c.params, again, c.want)
		}
		if _, again := effectOf(a, nil); again != (c.want && c.method != "tools/call") {
			t.Errorf("%s %s: again %v where nothing is known of effects", c.method, c.params, again)
		}
	}
}

func TestACallOfUnknownOutcomeIsNotMadeAgainAndTheErrorSaysSo(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		for _, modern := range []bool{false, true} {
			h := houseOf(modern)
			h.answer = hang
			meet(t, nil, func(g *guest) {
				g.begin(later, `{}`)
				g.ask(later, 1, "tools/call", `"name":"deploy"`, "")
				v := h.visit(t)
				lapse(2100 * time.Millisecond)
				h.lock()
				v.die()
				code, message, data := troubleOf(t, g.hear())
				want := "the outcome of tool deploy at server docs is unknown, 2.1s after it was sent: "
				if code != 4011 || !strings.HasPrefix(message, want) || !strings.Contains(message, "(MCP_TRANSPORT). It was not called again because its effect is not declared safe. Look before you call it again.") {
					t.Errorf("%d %s", code, message)
				}
				if data.Code != router.Transport || data.Execution != state.Unknown || data.Server != "docs" || data.Next == "" {
					t.Errorf("data %+v", data)
				}
				h.unlock()
				lapse(time.Minute)
				for _, r := range h.visit(t).requests() {
					if strings.HasPrefix(r, "tools/call") {
						t.Errorf("it was made again: %s", r)
					}
				}
			}, h)
		}
	}
}

func TestAnErrorGivesTheTimeSinceARequestWasSentFromASecondOn(t *testing.T) {
	t.Parallel()
	lost := failure(router.Transport, state.Unknown, "EOF")
	sent := time.Now()
	for after, want := range map[time.Duration]string{
		0: " is unknown: ", 999 * time.Millisecond: " is unknown: ",
		time.Second: " is unknown, 1s after it was sent: ", 37 * time.Second: " is unknown, 37s after it was sent: ",
	} {
		f := failed{server: "docs", subject: "tool deploy", effect: state.Unsafe, sent: sent, now: sent.Add(after)}
		if message := f.reply(lost).Error.Message; !strings.HasPrefix(message, "the outcome of tool deploy at server docs"+want) {
			t.Errorf("after %s: %s", after, message)
		}
	}
}

func hang(ctx context.Context, _ *visit, _ *mcp.Request) (mcp.Reply, *router.CallError) {
	<-ctx.Done()
	return mcp.Reply{}, nil
}

func TestASafeCallIsMadeAgainOnTheNextSession(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		for _, modern := range []bool{false, true} {
			h := houseOf(modern)
			h.effect = safely
			h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
				if v.house.count() == 1 {
					return hang(ctx, v, r)
				}
				return plain(ctx, v, r)
			}
			meet(t, nil, func(g *guest) {
				g.begin(later, `{}`)
				g.ask(later, 1, "tools/call", `"name":"look"`, "")
				h.visit(t).die()
				for {
					line := g.hear()
					if strings.Contains(line, "list_changed") {
						continue
					}
					if !strings.Contains(line, `"id":1,"result"`) {
						t.Errorf("later %v, modern %v: %s", later, modern, line)
					}
					break
				}
			}, h)
		}
	}
}

func TestAServerMayComeBackInAnotherEra(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		h := earlierHouse()
		h.effect = safely
		h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
			if v.house.count() == 1 && r.Method == "tools/call" {
				return hang(ctx, v, r)
			}
			return plain(ctx, v, r)
		}
		meet(t, nil, func(g *guest) {
			g.begin(later, `{}`)
			g.ask(later, 1, "tools/call", `"name":"look"`, "")
			v := h.visit(t)
			h.mu.Lock()
			h.modern, h.document = true, laterDocument
			h.mu.Unlock()
			v.die()
			line := g.hear()
			for strings.Contains(line, "list_changed") {
				line = g.hear()
			}
			if !strings.Contains(line, `"id":1,"result"`) || strings.Contains(line, "resultType") != later {
				t.Errorf("later %v: %s", later, line)
			}
		}, h)
	}
}

func TestAnErrorSaysWhatToDoWithoutACredential(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	h.answer = func(context.Context, *visit, *mcp.Request) (mcp.Reply, *router.CallError) {
		return mcp.Reply{}, failure(router.AuthMismatch, state.NotExecuted, "HTTP status 401: the bearer token is refused")
	}
	meet(t, nil, func(g *guest) {
		g.begin(false, `{}`)
		g.ask(false, 1, "tools/call", `"name":"x"`, "")
		code, message, data := troubleOf(t, g.hear())
		if code != 4002 || data.Code != router.AuthMismatch || data.Execution != state.NotExecuted ||
			message != "tool x at server docs was not executed: HTTP status 401: the bearer token is refused (MCP_AUTH_MISMATCH). Check the credential of server docs in the servers file (auth): it is not the kind that is wanted, or it is refused." {
			t.Errorf("%d %s %+v", code, message, data)
		}
	}, h)
}
