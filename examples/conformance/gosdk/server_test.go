package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"junction/router"
	"junction/router/mcp"
)

// serverVar makes the test binary play the server on its standard streams.
const serverVar = "GOSDK_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVar) != "" {
		err := newServer().Run(context.Background(), &sdk.StdioTransport{})
		if err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type numbers struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

type sum struct {
	Sum int64 `json:"sum"`
}

type none struct{}

type count struct {
	Begun   int64 `json:"begun"`
	Stopped int64 `json:"stopped"`
}

// newServer is a server with a tool for each thing that is to be seen.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "counter", Version: "1.8.0"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "adds"}, func(_ context.Context, _ *sdk.CallToolRequest, n numbers) (*sdk.CallToolResult, sum, error) {
		return nil, sum{n.A + n.B}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, none, error) {
		return nil, none{}, errors.New("out of paper")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "refuse"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, none, error) {
		return nil, none{}, &jsonrpc.Error{Code: -31001, Message: "closed on Sundays", Data: json.RawMessage(`{"opens":"Monday"}`)}
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, ask)
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, none, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, none, error) {
			return nil, none{}, nil
		})
		return nil, none{}, nil
	})
	// work goes on for 20 seconds, and says how far it is all the while; worked
	// counts the calls of it, and those that were stopped before their end.
	var begun, stopped atomic.Int64
	sdk.AddTool(s, &sdk.Tool{Name: "work"}, func(ctx context.Context, r *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, none, error) {
		begun.Add(1)
		for n := 1.0; n < 1000; n++ {
			if token := r.Params.GetProgressToken(); token != nil {
				// A notification that cannot be sent is no end: that is ctx's.
				_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Total: 1000, Message: "at it"})
			}
			select {
			case <-ctx.Done():
				stopped.Add(1)
				return nil, none{}, ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
		return nil, none{}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "worked"}, func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, count, error) {
		return nil, count{begun.Load(), stopped.Load()}, nil
	})
	return s
}

// ask asks for a name in the middle of the call. Of clients of the earlier era the
// SDK asks by a request of its own.
func ask(_ context.Context, r *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
	answer, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult)
	if !ok {
		return &sdk.CallToolResult{
			InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{
				Message:         "Who are you?",
				RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}},
			}},
			RequestState: "asked once",
		}, nil, nil
	}
	text := answer.Action
	if answer.Action == "accept" {
		text = fmt.Sprintf("hello %v (%s)", answer.Content["name"], r.Params.RequestState)
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
}

// each runs a test over every way to reach the server. era is the version of the
// protocol that is spoken there.
func each(t *testing.T, test func(t *testing.T, s *router.Server, era string)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	over := func(o *sdk.StreamableHTTPOptions) func(*testing.T) *router.Server {
		return func(t *testing.T) *router.Server {
			server := newServer()
			web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o))
			t.Cleanup(web.Close)
			return &router.Server{ID: "gosdk", Dial: router.Dial{URL: web.URL}}
		}
	}
	for _, way := range []struct {
		name, era string
		reach     func(t *testing.T) *router.Server
	}{
		{"stdio", "2026-07-28", func(*testing.T) *router.Server {
			return &router.Server{ID: "gosdk", Dial: router.Dial{Command: self, Env: map[string]string{serverVar: "1"}}}
		}},
		{"HTTP without sessions", "2026-07-28", over(&sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})},
		{"HTTP with sessions", "2025-11-25", over(nil)},
		{"HTTP with sessions and without streams", "2025-11-25", over(&sdk.StreamableHTTPOptions{JSONResponse: true})},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			test(t, way.reach(t), way.era)
		})
	}
}

// client is ours, until the test ends.
func client(t *testing.T) *mcp.Client {
	t.Helper()
	c := mcp.New(&mcp.Options{Elicitation: true})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c
}

// tool is a call of it with no arguments and a minute.
func tool(name string) router.ToolCall {
	return router.ToolCall{Tool: name, Arguments: map[string]any{}, Idle: time.Minute, Max: time.Minute}
}

func failure(t *testing.T, err error) *router.CallError {
	t.Helper()
	var e *router.CallError
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	return e
}
