package thirdparty_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// asking is a client that says that a person can be asked.
func asking(t *testing.T) *mcp.Client { return closed(t, mcp.New(&mcp.Options{Elicitation: true})) }

// person answers every question with what is given, and counts them.
type person struct {
	asked  atomic.Int64
	answer func(q router.Question) (action, content string)
}

func (p *person) ask(_ context.Context, q router.Question) (router.QuestionAnswer, error) {
	p.asked.Add(1)
	action, content := p.answer(q)
	return router.QuestionAnswer{Action: action, Content: json.RawMessage(content)}, nil
}

func TestAServersFormIsPutToAPersonAndTheAnswerReachesIt(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := asking(t)
		for action, says := range map[string]string{"accept": "- Name: Ada", "decline": "User declined", "cancel": "User cancelled"} {
			someone := &person{answer: func(q router.Question) (string, string) {
				if !strings.Contains(q.Message, "provide inputs") || !json.Valid(q.Schema) || !strings.Contains(string(q.Schema), "Your full, legal name") {
					t.Errorf("asked %+v", q)
				}
				return action, `{"name":"Ada","check":true}`
			}}
			r, err := c.Call(t.Context(), s, router.ToolCall{Tool: "trigger-elicitation-request", Arguments: map[string]any{}, Max: time.Minute, Ask: someone.ask})
			if err != nil || r.IsError || !strings.Contains(r.Text, says) || someone.asked.Load() != 1 {
				t.Errorf("%s: asked %d times, %+v, %v", action, someone.asked.Load(), r, err)
			}
		}
		r, err := c.Call(t.Context(), s, router.ToolCall{Tool: "trigger-elicitation-request", Arguments: map[string]any{}, Max: time.Minute})
		if err != nil || !strings.Contains(r.Text, "User declined") {
			t.Errorf("with nobody to be asked: %+v, %v", r, err)
		}
	})
}

func TestAPersonIsSentToAnAddressAndAskedForNoSecrets(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		someone := &person{answer: func(q router.Question) (string, string) {
			if q.URL != "https://example.com/log-in" || q.Message != "Log in" || q.Schema != nil {
				t.Errorf("asked %+v", q)
			}
			return "accept", ""
		}}
		args := map[string]any{"url": "https://example.com/log-in", "message": "Log in"}
		c := asking(t)
		r, err := c.Call(t.Context(), s, router.ToolCall{Tool: "trigger-url-elicitation", Arguments: args, Max: time.Minute, Ask: someone.ask})
		if err != nil || r.IsError || someone.asked.Load() != 1 {
			t.Errorf("asked %d times, %+v, %v", someone.asked.Load(), r, err)
		}
		// The other way is an error that says what has to be opened first.
		args["errorPath"] = true
		_, err = c.Call(t.Context(), s, router.ToolCall{Tool: "trigger-url-elicitation", Arguments: args, Max: time.Minute, Ask: someone.ask})
		var e *router.CallError
		if !errors.As(err, &e) || e.RPCCode != -32042 || !strings.Contains(fmt.Sprint(e.Data), "url:https://") {
			t.Errorf("error %v, data %T %[2]v", err, e.Data)
		}
	})
}

// What is not served is not advertised, so that the server does not even offer the
// tools that would need it.
func TestToolsThatNeedWhatWeDoNotServeAreNotThere(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		for name, tc := range map[string]struct {
			client *mcp.Client
			asks   bool
		}{"nobody can be asked": {client(t), false}, "a person can": {asking(t), true}} {
			d, err := tc.client.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			has := func(tool string) bool {
				return slices.ContainsFunc(d.Tools, func(t router.Tool) bool { return t.Name == tool })
			}
			if has("trigger-sampling-request") || has("get-roots-list") || has("trigger-elicitation-request") != tc.asks {
				t.Errorf("%s: %d tools", name, len(d.Tools))
			}
			_, err = tc.client.Call(t.Context(), s, router.ToolCall{Tool: "trigger-sampling-request", Arguments: map[string]any{"prompt": "hi"}, Max: time.Minute})
			var e *router.CallError
			if !errors.As(err, &e) || e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted {
				t.Errorf("%s: sampling: %v", name, err)
			}
		}
	})
}
