package mcp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/router/mcp"
)

func ExampleClient() {
	server := httptest.NewServer(mcpserver.NewStreamableHTTPServer(newServer()))
	defer server.Close()
	ctx := context.Background()

	client := mcp.New(nil)
	defer client.Close(ctx)

	s := &router.Server{ID: "bench-1", Dial: router.Dial{URL: server.URL}}
	about, err := client.Describe(ctx, s)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(about.Name, about.ProtocolVersion)

	result, err := client.Call(ctx, s, router.ToolCall{
		Tool:      "echo",
		Arguments: map[string]any{"text": "hello"},
		Idle:      10 * time.Second, Max: time.Minute,
	})
	fmt.Println(result.Text, err)

	_, err = client.Call(ctx, s, router.ToolCall{Tool: "echo", Arguments: map[string]any{"text": 1}})
	fmt.Println(err)
	// Output:
	// bench 2026-07-28
	// hello <nil>
	// MCP_CAPABILITY_MISMATCH: server "bench-1", tool "echo": the arguments do not fit the tool's input schema: at text: got number, want string
}
