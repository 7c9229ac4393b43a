package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"junction/router"
	"junction/router/mcp"
)

// serverVar makes the test binary play a server on its standard streams.
const serverVar = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if role := os.Getenv(serverVar); role != "" {
		os.Exit(playServer(role))
	}
	// A server of mcp-go's forgets its tasks in goroutines that sleep for as long as
	// they are kept.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/mark3labs/mcp-go/server.(*MCPServer).scheduleTaskCleanup"))
}

// playServer is what a child does; see [stdioServer].
func playServer(role string) int {
	switch role {
	case "modern":
		return serveStdio(os.Stdin)
	case "legacy":
		return serveStdio(withoutDiscover(os.Stdin, os.Stdout))
	case "dies at the probe":
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil || strings.Contains(line, "server/discover") {
			return 1
		}
		return serveStdio(withoutDiscover(io.MultiReader(strings.NewReader(line), os.Stdin), os.Stdout))
	case "dies at initialize":
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil || strings.Contains(line, "initialize") {
			return 1
		}
		return serveStdio(io.MultiReader(strings.NewReader(line), os.Stdin))
	case "never starts":
		fmt.Fprintln(os.Stderr, "config.toml:3: unknown key \x1b[31m\"prot\"")
		fmt.Fprintln(os.Stderr, "token is "+os.Getenv("API_TOKEN"))
		return 3
	case "says a long line":
		fmt.Fprintln(os.Stderr, strings.Repeat("\x07", 1015)+os.Getenv("API_TOKEN")+strings.Repeat("y", 8000))
		return 3
	case "outlives its input":
		serveStdio(os.Stdin)
		linger()
		return 0
	case "hangs":
		io.Copy(io.Discard, os.Stdin)
		return 0
	case "stops reading":
		return stopReading()
	case "parent":
		return parent()
	case "answers late":
		return answerLate()
	case "floods":
		return flood()
	case "tasks, modern", "tasks, legacy":
		return serveTasks(role == "tasks, modern")
	case "questions, modern", "questions, legacy":
		return serveQuestions(role == "questions, modern")
	case "real tasks, modern", "real tasks, legacy":
		return serveRealTasks(role == "real tasks, modern")
	case "attaches":
		return attach()
	case "reel modern", "reel legacy":
		return playReel(role == "reel modern")
	case "wire, modern", "wire, legacy":
		return playWire(role == "wire, modern")
	case "tells on a pipe":
		return tellOnPipe()
	}
	fmt.Fprintln(os.Stderr, "unknown role", role)
	return 2
}

// linger keeps a child for longer than any test, and not for ever.
func linger() { <-time.After(time.Minute) }

func serveStdio(in io.Reader) int {
	s := mcpserver.NewStdioServer(newServer())
	if err := s.Listen(context.Background(), in, os.Stdout); err != nil && err != io.EOF {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// withoutDiscover answers server/discover as a server of the earlier era does.
func withoutDiscover(in io.Reader, out io.Writer) io.Reader {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				w.CloseWithError(err)
				return
			}
			if bytes.Contains(line, []byte(`"server/discover"`)) {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", idOf(line))
				continue
			}
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}()
	return r
}

func idOf(body []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	json.Unmarshal(body, &m)
	return m.ID
}

// stopReading does the handshake by hand, and then reads no more.
func stopReading() int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 1
		}
		switch {
		case bytes.Contains(line, []byte(`"initialize"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"deaf","version":"1"},"capabilities":{"tools":{}}}}`+"\n", idOf(line))
		case bytes.Contains(line, []byte(`"tools/list"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`+"\n", idOf(line))
			linger()
		case bytes.Contains(line, []byte(`"server/discover"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", idOf(line))
		}
	}
}

// answerLate answers a call when it is told that the call was cancelled.
func answerLate() int {
	in := bufio.NewReader(os.Stdin)
	var asked json.RawMessage
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		id := idOf(line)
		switch {
		case bytes.Contains(line, []byte(`"initialize"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"late","version":"1"},"capabilities":{"tools":{}}}}`+"\n", id)
		case bytes.Contains(line, []byte(`"tools/list"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`+"\n", id)
		case bytes.Contains(line, []byte(`"tools/call"`)):
			asked = id
		case bytes.Contains(line, []byte(`"notifications/cancelled"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", asked)
		case len(id) > 0:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", id)
		}
	}
}

// flood answers each call with junk, a stray answer, a huge line and then a
// good answer to every second call.
func flood() int {
	in := bufio.NewReader(os.Stdin)
	for calls := 0; ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		id := idOf(line)
		switch {
		case bytes.Contains(line, []byte(`"initialize"`)):
			fmt.Printf("starting up\n"+`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"flood","version":"1"},"capabilities":{"tools":{}}}}`+"\n", id)
		case bytes.Contains(line, []byte(`"tools/list"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`+"\n", id)
		case bytes.Contains(line, []byte(`"tools/call"`)):
			calls++
			fmt.Printf("junk\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
			if calls%2 == 1 {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", id, strings.Repeat("x", 300<<10))
				continue
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s.0,"result":{"content":[{"type":"text","text":"fine"}]}}`+"\n", id)
		case len(id) > 0:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", id)
		}
	}
}

// newServer is a real server with a tool per behaviour.
func newServer() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("bench", "1.2.3",
		mcpserver.WithToolCapabilities(true), mcpserver.WithPaginationLimit(3),
		mcpserver.WithExtensions(map[string]any{"dev.junction/routing": map[string]any{
			"latency_p95_ms": 850, "max_concurrent_requests": 120, "requires_auth": true, "language_support": []string{"rust", "go"},
		}}))
	schema := func(name, in string) protocol.Tool {
		return protocol.NewToolWithRawSchema(name, "", json.RawMessage(in))
	}
	text := func(f func(context.Context, map[string]any) string) mcpserver.ToolHandlerFunc {
		return func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
			return protocol.NewToolResultText(f(ctx, r.GetArguments())), nil
		}
	}
	echo := schema("echo", `{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`)
	echo.Annotations.ReadOnlyHint = protocol.ToBoolPtr(true)
	echo.Meta = &protocol.Meta{AdditionalFields: map[string]any{"dev.junction/routing": map[string]any{
		"capability": "echo", "attributes": map[string]any{"review_depth": "deep"}}}}
	s.AddTool(echo, text(func(_ context.Context, a map[string]any) string { return a["text"].(string) }))
	big := schema("big", `{"type":"object"}`)
	big.RawOutputSchema = json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	s.AddTool(big, func(_ context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		n := json.RawMessage("9007199254740993")
		if bad, _ := r.GetArguments()["bad"].(bool); bad {
			n = json.RawMessage(`"many"`)
		}
		return protocol.NewToolResultStructuredOnly(map[string]any{"n": n}), nil
	})
	s.AddTool(schema("meta", `{"type":"object"}`), func(_ context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return protocol.NewToolResultText(fmt.Sprint(r.Params.Meta.AdditionalFields["key"])), nil
	})
	s.AddTool(schema("fail", `{"type":"object"}`), func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return protocol.NewToolResultError("the disk is full"), nil
	})
	s.AddTool(schema("env", `{"type":"object"}`), text(func(context.Context, map[string]any) string {
		return strings.Join(os.Environ(), "\n")
	}))
	s.AddTool(schema("where", `{"type":"object"}`), text(func(context.Context, map[string]any) string {
		dir, _ := os.Getwd()
		return fmt.Sprint(os.Getpid(), " ", dir)
	}))
	s.AddTool(schema("die", `{"type":"object"}`), text(func(context.Context, map[string]any) string {
		fmt.Fprintln(os.Stderr, "panic: out of ideas")
		os.Exit(7)
		return ""
	}))
	s.AddTool(schema("wait", `{"type":"object","properties":{"mark":{"type":"string"}}}`), text(func(ctx context.Context, a map[string]any) string {
		<-ctx.Done()
		if mark, _ := a["mark"].(string); mark != "" {
			os.WriteFile(mark, []byte("cancelled"), 0o600)
		}
		return "cancelled"
	}))
	s.AddTool(schema("steps", `{"type":"object"}`), steps)
	s.AddTool(schema("grow", `{"type":"object"}`), text(func(ctx context.Context, _ map[string]any) string {
		mcpserver.ServerFromContext(ctx).AddTool(schema("grown", `{"type":"object"}`), text(func(context.Context, map[string]any) string { return "new" }))
		return "ok"
	}))
	return s
}

// steps reports progress: the values in "at", one every "every" ms, and then
// waits for its end.
func steps(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
	a := r.GetArguments()
	every := time.Duration(a["every"].(float64)) * time.Millisecond
	at, _ := a["at"].([]any)
	for _, at := range at {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		mcpserver.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": r.Params.Meta.ProgressToken, "progress": at, "total": 10, "message": fmt.Sprint("step ", at),
		})
	}
	if stuck, _ := a["stuck"].(bool); stuck {
		linger()
	}
	if hang, _ := a["hang"].(bool); hang {
		<-ctx.Done()
	}
	return protocol.NewToolResultText("done"), nil
}

// stdioServer is this binary in a role.
func stdioServer(t testing.TB, role string) *router.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &router.Server{ID: "srv-" + strings.ReplaceAll(role, " ", "-"), Dial: router.Dial{
		Command: self, Env: map[string]string{serverVar: role, "GORACE": "atexit_sleep_ms=0"},
	}}
}

// httpServer serves newServer over HTTP, in one era or the other.
func httpServer(t testing.TB, modern bool, wrap func(http.Handler) http.Handler) (*router.Server, *httptest.Server) {
	t.Helper()
	var h http.Handler = mcpserver.NewStreamableHTTPServer(newServer())
	if !modern {
		h = legacyOnly(h)
	}
	if wrap != nil {
		h = wrap(h)
	}
	return raw(t, h)
}

// raw is a server with a handler of the test's own.
func raw(t testing.TB, h http.Handler) (*router.Server, *httptest.Server) {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return &router.Server{ID: "srv-http", Dial: router.Dial{URL: ts.URL + "/mcp"}}, ts
}

func legacyOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"server/discover"`)) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, idOf(body))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// newClient returns a client that the test's end closes.
func newClient(t testing.TB, o *mcp.Options) *mcp.Client {
	t.Helper()
	c := mcp.New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func call(tool string, args map[string]any) router.ToolCall {
	return router.ToolCall{Tool: tool, Arguments: args, Idle: 10 * time.Second, Max: 10 * time.Second}
}
