package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// puts asks the client something, as a server of the earlier era does, and returns
// where the answer comes.
func puts(ctx context.Context, ask func(context.Context, string, json.RawMessage, func(mcp.Reply)), method, params string) <-chan mcp.Reply {
	got := make(chan mcp.Reply, 1)
	ask(ctx, method, json.RawMessage(params), func(r mcp.Reply) { got <- r })
	return got
}

// idIn is the id of a message.
func idIn(line string) string { return string(member(json.RawMessage(line), "id")) }

func TestAServersRequestAndItsAnswerPassAsTheyAre(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"sampling":{},"roots":{},"elicitation":{},"tasks":{}}`)
		v := h.visit(t)
		for _, method := range []string{"sampling/createMessage", "roots/list", "elicitation/create", "tasks/get", "dev.example/unknown"} {
			got := puts(g.t.Context(), v.events.Asked, method, `{"z":1.50,"a":12345678901234567890}`)
			line := g.hear()
			if !strings.HasSuffix(line, `"method":"`+method+`","params":{"z":1.50,"a":12345678901234567890}}`) {
				t.Errorf("the client was asked %s", line)
			}
			g.say(`{"jsonrpc":"2.0","id":` + idIn(line) + `,"result":{"y":2.50,"b":98765432109876543210}}`)
			if r := <-got; string(r.Result) != `{"y":2.50,"b":98765432109876543210}` {
				t.Errorf("the server was answered %s", r.Result)
			}
		}
		got := puts(g.t.Context(), v.events.Asked, "roots/list", `{}`)
		g.say(`{"jsonrpc":"2.0","id":` + idIn(g.hear()) + `,"error":{"code":-1,"message":"user rejected","data":[1.50]}}`)
		if r := <-got; r.Error == nil || r.Error.Code != -1 || r.Error.Message != "user rejected" || string(r.Error.Data) != "[1.50]" {
			t.Errorf("the server was answered %+v", r.Error)
		}
	}, h)
}

func TestWhatTheClientHasNotDeclaredItIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"sampling/createMessage", "roots/list", "elicitation/create", "tasks/get"} {
		h := earlierHouse()
		meet(t, nil, func(g *guest) {
			g.begin(false, `{}`)
			if r := <-puts(g.t.Context(), h.visit(t).events.Asked, method, `{}`); r.Error == nil || r.Error.Code != -32601 {
				t.Errorf("%s: %+v", method, r)
			}
			g.silence()
		}, h)
	}
	h := earlierHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"elicitation":{"form":{}}}`)
		if r := <-puts(g.t.Context(), h.visit(t).events.Asked, "elicitation/create", `{"mode":"url"}`); r.Error == nil || !strings.Contains(r.Error.Message, "elicitation.url") {
			t.Errorf("a url: %+v", r)
		}
	}, h)
}

func TestAServerMayTakeItsQuestionBack(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"roots":{}}`)
		ctx, cancel := context.WithCancel(g.t.Context())
		got := puts(ctx, h.visit(t).events.Asked, "roots/list", `{}`)
		id := idIn(g.hear())
		cancel()
		if line := g.hear(); !strings.Contains(line, `"notifications/cancelled"`) || !strings.Contains(line, `"requestId":`+id) {
			t.Errorf("the client was told %s", line)
		}
		<-got // which the server does not wait for
	}, h)
}

func TestWhatTheClientReportsOfAQuestionGoesUnderTheServersToken(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"sampling":{}}`)
		v := h.visit(t)
		got := puts(g.t.Context(), v.events.Asked, "sampling/createMessage", `{"_meta":{"progressToken":7}}`)
		line := g.hear()
		token := string(member(member(member(json.RawMessage(line), "params"), "_meta"), "progressToken"))
		if token == "7" || token == "" {
			t.Errorf("the client was given the server's own token: %s", line)
		}
		g.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`)
		g.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2}}`)
		if notes := v.notes(); len(notes) != 1 || notes[0] != `notifications/progress {"progressToken":7,"progress":1}` {
			t.Errorf("the server was told %q", notes)
		}
		g.say(`{"jsonrpc":"2.0","id":` + idIn(line) + `,"result":{}}`)
		<-got
	}, h)
}

// asksTwice is a tool of the later era that asks two things at once, then one more.
func asksTwice(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
	if r.Method != "tools/call" {
		return plain(ctx, v, r)
	}
	switch textIn(r.Params, "requestState") {
	case "":
		return mcp.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Who?"}},"dirs":{"method":"roots/list"}},"requestState":"one"}`)}, nil
	case "one":
		return mcp.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{"say":{"method":"sampling/createMessage","params":{"n":1.50}}},"requestState":"two"}`)}, nil
	}
	return plain(ctx, v, r)
}

func TestQuestionsInAResultArePutToAnEarlierClientAndTheCallGoesOn(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	h.answer = asksTwice
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"elicitation":{},"roots":{},"sampling":{}}`)
		g.ask(false, 1, "tools/call", `"name":"x","arguments":{"a":1.50}`, "")
		for range 2 { // both are there before either is answered
			line := g.hear()
			answer := `{"roots":[]}`
			if strings.Contains(line, `"method":"elicitation/create","params":{"message":"Who?"}`) {
				answer = `{"action":"accept","content":{"n":1.50}}`
			}
			g.say(`{"jsonrpc":"2.0","id":` + idIn(line) + `,"result":` + answer + `}`)
		}
		line := g.hear()
		if !strings.Contains(line, `"method":"sampling/createMessage","params":{"n":1.50}`) {
			t.Errorf("the client was asked %s", line)
		}
		g.say(`{"jsonrpc":"2.0","id":` + idIn(line) + `,"result":{"role":"assistant"}}`)
		g.hears(`{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call","params":{"requestState":"two","inputResponses":{"say":{"role":"assistant"}},"name":"x","arguments":{"a":1.50}}}}`)
		var second string
		for _, r := range h.visit(t).requests() {
			if strings.Contains(r, `"one"`) {
				second = r
			}
		}
		if want := `tools/call {"requestState":"one","inputResponses":{"name":{"action":"accept","content":{"n":1.50}},"dirs":{"roots":[]}},"name":"x","arguments":{"a":1.50}}`; second != want {
			t.Errorf("the server got\n %s\nwant\n %s", second, want)
		}
	}, h)
}

func TestWhatAnEarlierClientCannotBeAskedEndsTheCallWithAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, capabilities, refusal, want string }{
		"not declared":  {`"inputRequests":{"a":{"method":"sampling/createMessage"}}`, `{}`, "", "not declared sampling"},
		"no question":   {`"inputRequests":{"a":{"method":"tools/list"}}`, `{}`, "", "no question"},
		"refused by it": {`"inputRequests":{"a":{"method":"roots/list"}}`, `{"roots":{}}`, `{"code":-1,"message":"user rejected"}`, "user rejected"},
		"for ever":      {`"inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"`, `{"roots":{}}`, "", "after 10 rounds"},
		"put off":       {`"requestState":"s"`, `{}`, "", "asked later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := laterHouse()
			h.answer = func(context.Context, *visit, *mcp.Request) (mcp.Reply, *router.CallError) {
				return mcp.Reply{Result: json.RawMessage(`{"resultType":"input_required",` + c.result + `}`)}, nil
			}
			meet(t, nil, func(g *guest) {
				g.begin(false, c.capabilities)
				g.ask(false, 1, "tools/call", `"name":"x"`, "")
				for {
					line := g.hear()
					if !strings.Contains(line, `"method"`) {
						_, message, data := troubleOf(t, line)
						if !strings.Contains(message, c.want) || data.Execution != state.Unknown {
							t.Errorf("%s %+v, want %q in it", message, data, c.want)
						}
						return
					}
					answer := `"result":{"roots":[]}`
					if c.refusal != "" {
						answer = `"error":` + c.refusal
					}
					g.say(`{"jsonrpc":"2.0","id":` + idIn(line) + `,` + answer + `}`)
				}
			}, h)
		})
	}
}

// asker is a house of the earlier era whose tool asks q before it answers, on its own
// stream or not.
func asker(onStream bool, q ...string) *house {
	h := earlierHouse()
	h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		if r.Method != "tools/call" {
			return plain(ctx, v, r)
		}
		ask := v.events.Asked
		if onStream {
			ask = r.Asked
		}
		answers := []byte(`{"got":[`)
		for i, params := range q {
			got := puts(ctx, ask, "elicitation/create", params)
			select {
			case reply := <-got:
				if i > 0 {
					answers = append(answers, ',')
				}
				if reply.Error != nil {
					answers = append(answers, quote(reply.Error.Message)...)
				} else {
					answers = append(answers, reply.Result...)
				}
			case <-ctx.Done():
				return mcp.Reply{}, nil
			}
		}
		return mcp.Reply{Result: json.RawMessage(append(answers, `]}`...))}, nil
	}
	return h
}

// stateIn is the requestState of a result.
func stateIn(line string) string {
	return string(member(member(json.RawMessage(line), "result"), "requestState"))
}
