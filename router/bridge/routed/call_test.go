package routed

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestACallGoesToAServerAndItsAnswerIsAToolsResult(t *testing.T) {
	f := newFleet()
	f.server("a", state.Safe)
	f.answer = func(_ context.Context, _ *router.Server, c router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{Structured: map[string]any{"got": c.Arguments["n"]}}, nil
	}
	within(t, f, nil, func(t *testing.T, w *world) {
		got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work","arguments":{"n":9007199254740993}}`))
		const want = `{"got":9007199254740993}`
		if string(got.Structured) != want || got.Content[0].Text != want || got.IsError || got.ResultType != "" {
			t.Errorf("%+v %s", got, got.Structured)
		}
		f.answer = says("fine")
		later := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work","_meta":{`+modernMeta+`}}`))
		if later.Content[0].Text != "fine" || later.Structured != nil || later.ResultType != "complete" || later.Meta[protocol.MetaKeyServerInfo] == nil {
			t.Errorf("%+v", later)
		}
	})
}

func TestAToolsOwnErrorStaysOne(t *testing.T) {
	f := newFleet()
	f.server("a", state.Unsafe)
	f.answer = func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{Text: "no such file", IsError: true}, nil
	}
	within(t, f, nil, func(t *testing.T, w *world) {
		got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work"}`))
		if !got.IsError || got.Content[0].Text != "no such file" || f.made() != 1 {
			t.Errorf("%+v after %d calls", got, f.made())
		}
	})
}

func TestAnUnknownOutcomeIsSaidWithItsEvidenceAndNothingIsCalledAgain(t *testing.T) {
	for name, capabilities := range map[string]string{"a client that answers nothing": `{}`, "one that can be asked": `{"elicitation":{}}`} {
		t.Run(name, func(t *testing.T) {
			f := newFleet()
			f.server("a", state.Unsafe)
			f.server("b", state.Unsafe)
			f.answer = func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
				return nil, &router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "connection reset"}
			}
			within(t, f, nil, func(t *testing.T, w *world) {
				w.does(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`}`)
				for _, key := range []string{`"k"`, `"k"`} { // under its key it stays so
					code, message, data := troubled(t, w.does(t.Context(), "tools/call", `{"name":"work","_meta":{"`+metaKey+`":`+key+`}}`))
					has(t, message, "unknown whether do on", "not called again")
					evidence, _ := data["evidence"].(map[string]any)
					if code != 4011 || data["code"] != "MCP_TRANSPORT" || data["execution"] != "unknown" || evidence["tool"] != "do" || evidence["message"] != "connection reset" {
						t.Errorf("%d %v", code, data)
					}
				}
				if f.made() != 1 {
					t.Errorf("%d calls, want 1", f.made())
				}
				if len(w.client.asked) != 0 {
					t.Error("the client was asked to decide in the middle of a call")
				}
			})
		})
	}
}

func TestFailuresHaveNames(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(f *fleet)
		call    string
		code    int
		word    string
	}{
		"no server": {func(*fleet) {}, `{"name":"work"}`, 4021, "no_candidate"},
		"all busy": {func(f *fleet) {
			f.server("a", state.Safe).MaxConcurrent = 1
			f.answer = func(ctx context.Context, _ *router.Server, _ router.ToolCall) (*router.ToolResult, error) {
				<-ctx.Done()
				return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown}
			}
		}, `{"name":"work"}`, 4022, "saturated"},
		"refused everywhere": {func(f *fleet) {
			f.server("a", state.Unsafe)
			f.answer = func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
				return nil, &router.CallError{Code: router.AuthRequired, Execution: state.NotExecuted, Message: "401"}
			}
		}, `{"name":"work"}`, 4001, "MCP_AUTH_REQUIRED"},
		"arguments that break the contract": {func(f *fleet) {
			f.server("a", state.Safe)
			f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Input: json.RawMessage(`{"type":"object","required":["x"]}`)}
		}, `{"name":"work"}`, -32602, ""},
		"another tool":             {func(*fleet) {}, `{"name":"play"}`, -32602, ""},
		"arguments in a list":      {func(*fleet) {}, `{"name":"work","arguments":[1]}`, -32602, ""},
		"a key that is a number":   {func(*fleet) {}, `{"name":"work","_meta":{"` + metaKey + `":1}}`, -32602, ""},
		"an unknown later version": {func(*fleet) {}, `{"name":"work","_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}`, -32022, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet()
			c.arrange(f)
			within(t, f, nil, func(t *testing.T, w *world) {
				if c.word == "saturated" {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					go w.does(ctx, "tools/call", `{"name":"work"}`)
					synctest.Wait()
				}
				code, message, data := troubled(t, w.does(t.Context(), "tools/call", c.call))
				word, _ := data["code"].(string)
				if code != c.code || word != c.word || message == "" {
					t.Errorf("%d %q %v", code, message, data)
				}
			})
		})
	}
}

func TestACancelCancelsTheHop(t *testing.T) {
	f := newFleet()
	f.server("a", state.Safe)
	cut := make(chan error, 1)
	f.answer = func(ctx context.Context, _ *router.Server, _ router.ToolCall) (*router.ToolResult, error) {
		<-ctx.Done()
		cut <- ctx.Err()
		return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown}
	}
	within(t, f, nil, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		troubled(t, w.does(ctx, "tools/call", `{"name":"work"}`))
		if err := <-cut; !errors.Is(err, context.Canceled) || f.made() != 1 {
			t.Errorf("%v after %d calls", err, f.made())
		}
	})
}

func TestProgressGoesToItsClientWhileItRisesAndNeverAfterTheAnswer(t *testing.T) {
	f := newFleet()
	f.server("a", state.Safe)
	var late func(float64, float64, string)
	f.answer = func(_ context.Context, _ *router.Server, c router.ToolCall) (*router.ToolResult, error) {
		late = c.Progress
		for _, p := range []float64{1, 3, 2, 4} {
			c.Progress(p, 4, "")
		}
		return &router.ToolResult{Text: "fine"}, nil
	}
	within(t, f, nil, func(t *testing.T, w *world) {
		result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work","_meta":{"progressToken":"p-1"}}`))
		late(9, 9, "")
		result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work"}`)) // wants none
		var told []float64
		for _, n := range w.client.told() {
			var p struct {
				Token    string `json:"progressToken"`
				Progress float64
				Total    float64
			}
			if err := json.Unmarshal(n.Params, &p); err != nil || n.Method != string(protocol.MethodNotificationProgress) || p.Token != "p-1" || p.Total != 4 {
				t.Errorf("%s %s", n.Method, n.Params)
			}
			told = append(told, p.Progress)
		}
		if len(told) != 3 || told[0] != 1 || told[1] != 3 || told[2] != 4 {
			t.Errorf("told %v", told)
		}
	})
}

// What passes unasked.
var _ client = (*person)(nil)

func TestOtherRequestsAreAnsweredOrRefused(t *testing.T) {
	within(t, newFleet(), nil, func(t *testing.T, w *world) {
		if reply := w.does(t.Context(), "ping", ``); string(reply.Result) != "{}" {
			t.Errorf("ping: %+v", reply)
		}
		if code, _, _ := troubled(t, w.does(t.Context(), "prompts/list", `{}`)); code != -32601 {
			t.Errorf("prompts/list: %d", code)
		}
		if code, _, _ := troubled(t, w.does(t.Context(), "tools/call", `[]`)); code != -32602 {
			t.Errorf("parameters in a list: %d", code)
		}
		w.Notified(mcp.Notification{Method: "notifications/initialized"})
		for asked, given := range map[string]string{"2025-06-18": "2025-06-18", "2031-01-01": "2025-11-25", "": "2025-03-26"} {
			got := result[struct{ ProtocolVersion string }](t, w.does(t.Context(), "initialize", `{"protocolVersion":"`+asked+`","capabilities":{}}`))
			if got.ProtocolVersion != given {
				t.Errorf("asked for %q: %q", asked, got.ProtocolVersion)
			}
		}
		got := result[struct {
			ResultType        string
			SupportedVersions []string
		}](t, w.does(t.Context(), "server/discover", `{"_meta":{`+modernMeta+`}}`))
		if got.ResultType != "complete" || len(got.SupportedVersions) != 1 {
			t.Errorf("%+v", got)
		}
	})
}
