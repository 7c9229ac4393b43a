package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
)

// A client on standard streams uses a server that is reached over HTTP.
func ExampleNew() {
	behind := mcpserver.NewMCPServer("greeter", "1.0", mcpserver.WithToolCapabilities(true))
	behind.AddTool(protocol.NewTool("greet"), func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return protocol.NewToolResultText("good morning"), nil
	})
	web := httptest.NewServer(mcpserver.NewStreamableHTTPServer(behind))
	defer web.Close()

	ctx := context.Background()
	client := mcp.New(nil)
	defer client.Close(ctx)
	address := &router.Server{ID: "greeter-1", Dial: router.Dial{URL: web.URL}}
	b := bridge.New([]bridge.Server{{
		Name: "greeter",
		Open: func(ctx context.Context, g mcp.Greeting, e mcp.Events) (bridge.Session, *router.CallError) {
			wire, err := client.Open(ctx, address, g, e)
			if err != nil {
				return nil, err
			}
			return wire, nil
		},
	}}, nil)

	in, toBridge := io.Pipe() // a program has os.Stdin and os.Stdout
	fromBridge, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, in, out) }()
	answers := bufio.NewScanner(fromBridge)
	say := func(line string) string {
		if _, err := fmt.Fprintln(toBridge, line); err != nil || !answers.Scan() {
			return "nothing came"
		}
		return answers.Text()
	}
	var greeting struct {
		Result struct{ ServerInfo struct{ Name string } }
	}
	hello := say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}`)
	fmt.Println(json.Unmarshal([]byte(hello), &greeting), greeting.Result.ServerInfo.Name)
	fmt.Println(strings.Contains(say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"}}`), `"text":"good morning"`))

	fmt.Println(toBridge.Close(), <-served) // the client has gone, and so may the bridge
	// Output:
	// <nil> greeter
	// true
	// <nil> <nil>
}

// plain answers every request with what was asked.
type plain struct{}

func (plain) Begin(_ context.Context, method string, params json.RawMessage) func() mcp.Reply {
	return func() mcp.Reply {
		if method != "echo" {
			return mcp.Reply{Error: &mcp.RPCError{Code: -32601, Message: "there is no such method"}}
		}
		return mcp.Reply{Result: params}
	}
}

func (plain) Notified(mcp.Notification) {}

// A front can have any handler behind it.
func ExampleFront() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"one","method":"echo","params":{"a":1}}` + "\n")
	if err := bridge.NewFront(in, os.Stdout, plain{}, nil).Serve(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: {"jsonrpc":"2.0","id":"one","result":{"a":1}}
}
