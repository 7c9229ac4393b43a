package sse_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/sse"
	"junction/router/mcp/sse/nginxtest"
)

// caller is a client of package mcp that the test's end closes.
func caller(t *testing.T, o *mcp.Options) *mcp.Client {
	t.Helper()
	c := mcp.New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// endpoint serves an MCP server over HTTP, its streams looked after.
func endpoint(t *testing.T, s *mcpserver.MCPServer, o *sse.Options) string {
	t.Helper()
	ts := httptest.NewServer(sse.Handler(mcpserver.NewStreamableHTTPServer(s), o))
	t.Cleanup(ts.Close)
	return ts.URL
}

// The tool goes on when its last report was received, or after a while: the library
// may lose one.
func TestThroughNginxProgressArrivesWhileTheToolWorks(t *testing.T) {
	t.Parallel()
	received := make(chan float64, 100)
	s := mcpserver.NewMCPServer("slow", "1")
	s.AddTool(protocol.NewTool("work"), func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		heard := 0
		for n := 1; n <= 20 && heard < 3; n++ {
			if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": n}); err != nil {
				return nil, err
			}
			select {
			case <-received:
				heard++
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if heard < 3 {
			return protocol.NewToolResultText("unheard"), nil
		}
		return protocol.NewToolResultText("heard"), nil
	})
	through := &router.Server{ID: "slow", Dial: router.Dial{URL: nginxtest.Start(t, endpoint(t, s, nil), buffering) + "/mcp"}}
	r, err := caller(t, nil).Call(t.Context(), through, router.ToolCall{
		Tool: "work", Max: 30 * time.Second,
		Progress: func(progress, _ float64, _ string) {
			select {
			case received <- progress:
			default:
			}
		},
	})
	if err != nil || r.Text != "heard" {
		t.Errorf("%+v, %v", r, err)
	}
}

// The subscription is quiet for several times as long as the proxy waits.
func TestThroughNginxASubscriptionHoldsWhereItIsKeptAlive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		every time.Duration
		holds bool
	}{
		{"with comment lines", 200 * time.Millisecond, true},
		{"without", time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mcpserver.NewMCPServer("changing", "1", mcpserver.WithToolCapabilities(true))
			tool := func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
				return protocol.NewToolResultText("fine"), nil
			}
			s.AddTool(protocol.NewTool("one"), tool)
			lost := make(chan mcp.ReconnectPlan, 100)
			c := caller(t, &mcp.Options{OnReconnect: func(p mcp.ReconnectPlan) { lost <- p }})
			through := &router.Server{ID: "changing", Dial: router.Dial{URL: nginxtest.Start(t, endpoint(t, s, &sse.Options{Every: tt.every}), "proxy_read_timeout 2s;") + "/mcp"}}
			if _, err := c.Describe(t.Context(), through); err != nil {
				t.Fatal(err)
			}
			select {
			case p := <-lost:
				if tt.holds {
					t.Errorf("the subscription was cut: %+v", p)
				}
			case <-time.After(5 * time.Second):
				if !tt.holds {
					t.Error("the subscription held: this test shows nothing")
				}
			}
			s.AddTool(protocol.NewTool("two"), tool)
			limit := time.After(20 * time.Second)
			for {
				d, err := c.Describe(t.Context(), through)
				if err == nil && len(d.Tools) == 2 {
					return
				}
				select {
				case <-limit:
					t.Fatalf("the change is not heard: %v", err)
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
}
