package routed

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// asksWho is a server that asks for a name: in the middle of the call, as the earlier
// era does, or by a result, as the later one does.
func asksWho(live bool) func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
	const form = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	hello := func(answer router.QuestionAnswer) *router.ToolResult {
		return &router.ToolResult{Text: answer.Action + " " + string(answer.Content)}
	}
	return func(ctx context.Context, _ *router.Server, c router.ToolCall) (*router.ToolResult, error) {
		switch {
		case live && c.Ask == nil, !live && !c.MayAsk:
			return &router.ToolResult{Text: "nobody to ask"}, nil
		case live:
			a, err := c.Ask(ctx, router.Question{Message: "Who?", Schema: json.RawMessage(form)})
			if err != nil {
				return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown, Err: err}
			}
			return hello(a), nil
		case c.Input == nil:
			return &router.ToolResult{Input: &state.Input{Requests: map[string]json.RawMessage{
				"who": json.RawMessage(`{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":` + form + `}}`),
			}}}, nil
		}
		var a router.QuestionAnswer
		if err := json.Unmarshal(c.Input.Responses["who"], &a); err != nil {
			return nil, &router.CallError{Code: router.OutputInvalid, Execution: state.Unknown, Err: err}
		}
		return hello(a), nil
	}
}

func eras(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	for name, live := range map[string]bool{"a server of the earlier era": true, "one of the later": false} {
		t.Run(name, func(t *testing.T) {
			f := newFleet()
			f.server("a", state.Safe)
			f.answer = asksWho(live)
			test(t, f)
		})
	}
}

func TestAServersQuestionGoesToAClientOfTheEarlierEra(t *testing.T) {
	eras(t, func(t *testing.T, f *fleet) {
		within(t, f, nil, func(t *testing.T, w *world) {
			w.does(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}`)
			for answer, want := range map[string]string{
				`{"action":"accept","content":{"name":"Ada"},"_meta":{}}`: `accept {"name":"Ada"}`,
				`{"action":"decline"}`: "decline ",
			} {
				w.client.answer = func(context.Context, json.RawMessage) (mcp.Reply, error) {
					return mcp.Reply{Result: json.RawMessage(answer)}, nil
				}
				got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work"}`))
				if got.Content[0].Text != want {
					t.Errorf("%+v, want %q", got, want)
				}
			}
			has(t, string(w.client.asked[0]), `"message":"Who?"`, `"requestedSchema":{`, `"name":{"type":"string"}`)
			w.client.answer = func(context.Context, json.RawMessage) (mcp.Reply, error) {
				return mcp.Reply{Error: &mcp.RPCError{Code: -32603, Message: "nobody is here"}}, nil
			}
			if got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work"}`)); got.Content[0].Text != "decline " {
				t.Errorf("a client that cannot ask: %+v", got)
			}
		})
	})
}

func TestAClientThatDeclaresNothingIsNotAsked(t *testing.T) {
	eras(t, func(t *testing.T, f *fleet) {
		within(t, f, nil, func(t *testing.T, w *world) {
			w.does(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`)
			if got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work"}`)); got.Content[0].Text != "nobody to ask" {
				t.Errorf("%+v", got)
			}
		})
	})
}

const askable = `"_meta":{` + modernMeta + `,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

func TestAClientOfTheLaterEraIsSentAwayWithTheQuestionAndComesBack(t *testing.T) {
	eras(t, func(t *testing.T, f *fleet) {
		within(t, f, nil, func(t *testing.T, w *world) {
			asked := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work",`+askable+`}`))
			q := asked.Requests[onlyQuestion]
			if asked.ResultType != "input_required" || asked.State == "" || q.Method != "elicitation/create" {
				t.Fatalf("%+v", asked)
			}
			has(t, string(q.Params), "Who?")
			back := func(name, responses string) mcp.Reply {
				return w.does(t.Context(), "tools/call", `{"name":"`+name+`","requestState":"`+asked.State+`","inputResponses":`+responses+`,`+askable+`}`)
			}
			const answer = `{"question":{"action":"accept","content":{"name":"Ada"}}}`
			for _, wrong := range []mcp.Reply{back("work", `{}`), back("work", `{"question":{}}`), back("play", answer)} {
				if code, _, _ := troubled(t, wrong); code != -32602 {
					t.Errorf("%+v", wrong)
				}
			}
			got := result[toolResult](t, back("work", answer))
			if got.ResultType != "complete" || got.Content[0].Text != `accept {"name":"Ada"}` {
				t.Errorf("%+v", got)
			}
			if code, message, _ := troubled(t, back("work", answer)); code != -32602 {
				t.Errorf("the same answer twice: %d %s", code, message)
			}
		})
	})
}

func TestACallWhoseClientNeverComesBackEnds(t *testing.T) {
	eras(t, func(t *testing.T, f *fleet) {
		within(t, f, &Options{Patient: time.Minute}, func(t *testing.T, w *world) {
			asked := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work",`+askable+`}`))
			<-time.After(time.Minute + time.Second)
			synctest.Wait()
			w.mu.Lock()
			if len(w.parked)+len(w.calls) != 0 {
				t.Errorf("%d questions and %d calls are left", len(w.parked), len(w.calls))
			}
			w.mu.Unlock()
			late := w.does(t.Context(), "tools/call", `{"name":"work","requestState":"`+asked.State+`","inputResponses":{"question":{"action":"decline"}},`+askable+`}`)
			if code, _, _ := troubled(t, late); code != -32602 {
				t.Errorf("%+v", late)
			}
		})
	})
}

func TestCallsThatWaitForAnswersAreBounded(t *testing.T) {
	f := newFleet()
	f.server("a", state.Safe)
	f.answer = asksWho(true)
	within(t, f, nil, func(t *testing.T, w *world) {
		for range mostParked {
			result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work",`+askable+`}`))
		}
		if got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work",`+askable+`}`)); got.Content[0].Text != "decline " {
			t.Errorf("one more: %+v", got)
		}
	})
}

func TestAClientThatGoesAwayTakesItsQuestionAlong(t *testing.T) {
	f := newFleet()
	f.server("a", state.Safe)
	f.answer = asksWho(true)
	within(t, f, nil, func(t *testing.T, w *world) {
		w.does(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}}}`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		withdrawn := make(chan error, 1)
		w.client.answer = func(ctx context.Context, _ json.RawMessage) (mcp.Reply, error) {
			<-ctx.Done()
			withdrawn <- ctx.Err()
			return mcp.Reply{}, ctx.Err()
		}
		troubled(t, w.does(ctx, "tools/call", `{"name":"work"}`))
		if err := <-withdrawn; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestAnAddressIsPutOnlyToClientsThatOpenThem(t *testing.T) {
	question := map[string]any{"question": "Sign in.", "url": "https://id.example.com"}
	for capabilities, want := range map[string]abilities{
		`{}`: {}, `{"elicitation":{}}`: {form: true}, `{"elicitation":{"url":{}}}`: {url: true},
		`{"elicitation":{"form":{},"url":{}}}`: {form: true, url: true}, `{"elicitation":null}`: {}, `[]`: {},
	} {
		able := abilitiesOf(json.RawMessage(capabilities))
		if able != want {
			t.Errorf("%s: %+v", capabilities, able)
		}
		params, err := elicit(question, nil, able)
		if err != nil || (params != nil) != able.url {
			t.Errorf("%s: %s, %v", capabilities, params, err)
		}
	}
}
