package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// roleVar makes the test binary play a server on its standard streams.
const roleVar = "BRIDGE_TEST_SERVER"

// playRole is what a child does instead of the tests.
func playRole(role string) int {
	in := without(foreign(role == "later"), os.Stdin, os.Stdout)
	if err := mcpserver.NewStdioServer(newReal()).Listen(context.Background(), in, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// foreign is the handshake that a server of the one era does not know. mcp-go's know
// both.
func foreign(modern bool) string {
	if modern {
		return string(protocol.MethodInitialize)
	}
	return string(protocol.MethodServerDiscover)
}

// unknownMethod refuses a message where it is a request for the method.
func unknownMethod(method string, line []byte) (refusal string, is bool) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(line, &m) // what is none is not for us to say
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID), m.Method == method
}

// without takes a method out of what comes in on a server's streams.
func without(method string, in io.Reader, out io.Writer) io.Reader {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				w.CloseWithError(err)
				return
			}
			if refusal, is := unknownMethod(method, line); is {
				fmt.Fprint(out, refusal)
				continue
			}
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}()
	return r
}

// withoutOverHTTP takes a method out of what reaches a server.
func withoutOverHTTP(method string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if refusal, is := unknownMethod(method, body); is {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, refusal)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// newReal is a server of mcp-go's. What a call finds it finds out from files, which
// outlive it.
func newReal() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("real", "1.0", mcpserver.WithToolCapabilities(true), mcpserver.WithElicitation(), mcpserver.WithLogging())
	add := func(name string, do func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error)) {
		s.AddTool(protocol.NewTool(name), do)
	}
	add("echo", func(_ context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return protocol.NewToolResultText(r.GetString("text", "")), nil
	})
	add("pid", func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return protocol.NewToolResultText(fmt.Sprint(os.Getpid())), nil
	})
	add("who", func(_ context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			return mcpserver.NewInputRequestBuilder("s-1").Elicit("name", protocol.ElicitationParams{
				Message: "Who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
			}).ToolResult(), nil
		}
		raw, err := json.Marshal(r.Params.InputResponses["name"])
		return protocol.NewToolResultText(string(raw)), err
	})
	add("learn", func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		add("learnt", nil)
		return protocol.NewToolResultText("done"), nil
	})
	add("count", func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		for i := range 3 {
			if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "total": 3,
			}); err != nil {
				return nil, err
			}
		}
		<-time.After(100 * time.Millisecond) // mcp-go's reports may leave after its answer
		return protocol.NewToolResultText("counted"), nil
	})
	// The first call under a mark stays; a later one ends at once.
	stay := func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		f, err := os.OpenFile(r.GetString("mark", ""), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return protocol.NewToolResultText("at last"), nil
		} else if err != nil {
			return nil, err
		}
		f.Close()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	add("look", stay)
	add("deploy", stay)
	return s
}
