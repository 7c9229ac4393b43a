package bridge_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
	"junction/state"
)

// place is where a real server is, which a test can stop and start.
type place struct {
	t      *testing.T
	dial   router.Dial
	modern bool
	listen string
	web    *http.Server
	served sync.WaitGroup
}

func (p *place) start() {
	p.t.Helper()
	if p.dial.URL == "" {
		return // the bridge starts it
	}
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		p.t.Fatal(err)
	}
	p.web = &http.Server{Handler: withoutOverHTTP(foreign(p.modern), mcpserver.NewStreamableHTTPServer(newReal(), mcpserver.WithStateLess(p.modern)))}
	web := p.web
	p.served.Go(func() { _ = web.Serve(l) })
}

// aside is an address where nobody else listens, also while the server is dead: on
// Linux all of 127/8 is this machine's, and others keep to its first address.
func aside() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return "127.0.0.4"
}

func newPlace(t *testing.T, modern, overHTTP bool) *place {
	t.Helper()
	p := &place{t: t, modern: modern}
	if overHTTP {
		l, err := net.Listen("tcp", aside()+":0")
		if err != nil {
			t.Fatal(err)
		}
		p.listen = l.Addr().String()
		p.dial.URL = "http://" + p.listen + "/mcp"
		l.Close()
		p.start()
		t.Cleanup(func() { p.web.Close(); p.served.Wait() })
		return p
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	role := "earlier"
	if modern {
		role = "later"
	}
	p.dial = router.Dial{Command: self, Env: map[string]string{roleVar: role}}
	return p
}

// kill ends the server, whatever it is doing. pid is a child's.
func (p *place) kill(pid int) {
	p.t.Helper()
	if p.dial.URL != "" {
		p.web.Close()
		p.served.Wait()
		return
	}
	child, err := os.FindProcess(pid)
	if err == nil {
		err = child.Kill()
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// editor is a client of mcp-go's behind a bridge.
type editor struct {
	*mcpclient.Client
	t    *testing.T
	told chan protocol.JSONRPCNotification
}

// Elicit implements mcp-go's handler.
func (e *editor) Elicit(context.Context, protocol.ElicitationRequest) (*protocol.ElicitationResult, error) {
	return &protocol.ElicitationResult{ElicitationResponse: protocol.ElicitationResponse{
		Action: protocol.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada"},
	}}, nil
}

// edit runs a bridge over the place, with a client of the era.
func edit(t *testing.T, p *place, later bool) *editor {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	callers := mcp.New(&mcp.Options{Logger: slog.New(slog.DiscardHandler)})
	b := bridge.New([]bridge.Server{{
		Name: "real",
		Open: func(ctx context.Context, g mcp.Greeting, e mcp.Events) (bridge.Session, *router.CallError) {
			w, fail := callers.Open(ctx, &router.Server{ID: "real-1", Name: "real", Dial: p.dial}, g, e)
			if fail != nil {
				return nil, fail
			}
			return w, nil
		},
		Effect: func(tool string) (state.Effect, string) {
			if tool == "deploy" {
				return state.Unsafe, ""
			}
			return state.Safe, ""
		},
	}}, &bridge.Options{PingInterval: 200 * time.Millisecond, Backoff: mcp.Backoff{Cap: 200 * time.Millisecond}, Logger: slog.New(slog.DiscardHandler)})
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, in, out); out.Close() }()
	e := &editor{t: t, told: make(chan protocol.JSONRPCNotification, 1000)}
	options := []mcpclient.ClientOption{mcpclient.WithElicitationHandler(e)}
	if !later {
		options = append(options, mcpclient.WithLegacyProtocolOnly())
	}
	e.Client = mcpclient.NewClient(transport.NewIO(fromBridge, toBridge, io.NopCloser(strings.NewReader(""))), options...)
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	e.OnNotification(func(n protocol.JSONRPCNotification) { e.told <- n })
	t.Cleanup(func() {
		e.Close()
		toBridge.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		fromBridge.Close()
		callers.Close(ctx)
		cancel()
	})
	var r protocol.InitializeRequest
	r.Params.ProtocolVersion = protocol.LATEST_PROTOCOL_VERSION
	if !later {
		r.Params.ProtocolVersion = protocol.LATEST_LEGACY_PROTOCOL_VERSION
	}
	r.Params.ClientInfo = protocol.Implementation{Name: "editor", Version: "1"}
	got, err := e.Initialize(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if got.ServerInfo.Name != "real" || protocol.IsModernProtocol(e.ProtocolVersion()) != later {
		t.Fatalf("the client sees %+v in %s", got.ServerInfo, e.ProtocolVersion())
	}
	return e
}

// call calls a tool and returns its text.
func (e *editor) call(tool string, arguments map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var r protocol.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	r.Params.Meta = &protocol.Meta{ProgressToken: tool}
	got, err := e.CallTool(ctx, r)
	if err != nil {
		return "", err
	}
	if len(got.Content) != 1 {
		return "", fmt.Errorf("content %v", got.Content)
	}
	text, _ := got.Content[0].(protocol.TextContent)
	return text.Text, nil
}

func (e *editor) must(want, tool string, arguments map[string]any) string {
	e.t.Helper()
	got, err := e.call(tool, arguments)
	if err != nil || want != "" && got != want {
		e.t.Fatalf("%s: %q, %v; want %q", tool, got, err, want)
	}
	return got
}

// hears waits for a notification.
func (e *editor) hears(method string) protocol.JSONRPCNotification {
	e.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case n := <-e.told:
			if n.Method == method {
				return n
			}
		case <-limit:
			e.t.Fatalf("%s did not come", method)
		}
	}
}

// marked waits until a call has begun at the server.
func marked(t *testing.T, mark string) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(20 * time.Second)
	for {
		if _, err := os.Stat(mark); err == nil {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatal("the call did not reach the server")
		}
	}
}

func TestARealClientKeepsItsConnectionWhileARealServerDiesAndComesBack(t *testing.T) {
	t.Parallel()
	for _, overHTTP := range []bool{false, true} {
		for _, modern := range []bool{false, true} {
			for _, later := range []bool{false, true} {
				name := fmt.Sprintf("client %s, server %s, %s", map[bool]string{false: "earlier", true: "later"}[later],
					map[bool]string{false: "earlier", true: "later"}[modern], map[bool]string{false: "stdio", true: "HTTP"}[overHTTP])
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					p := newPlace(t, modern, overHTTP)
					outlive(t, p, edit(t, p, later), later)
				})
			}
		}
	}
}

// outlive has a client use a server that dies between its calls and during them.
func outlive(t *testing.T, p *place, e *editor, later bool) {
	tools, err := e.ListTools(context.Background(), protocol.ListToolsRequest{})
	if err != nil || !slices.ContainsFunc(tools.Tools, func(tool protocol.Tool) bool { return tool.Name == "echo" }) {
		t.Fatalf("tools %v, %v", tools, err)
	}
	if later {
		stop, err := e.ListenAsync(context.Background(), protocol.SubscriptionFilter{ToolsListChanged: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		e.hears("notifications/subscriptions/acknowledged")
	}
	e.must("hello", "echo", map[string]any{"text": "hello"})
	e.must("counted", "count", nil)
	if n := e.hears("notifications/progress"); n.Params.AdditionalFields["progressToken"] != "count" {
		t.Errorf("progress under another token: %v", n.Params)
	}
	if got := e.must("", "who", nil); !strings.Contains(got, `"Ada"`) {
		t.Errorf("who: %s", got)
	}
	e.must("done", "learn", nil)
	e.hears("notifications/tools/list_changed")
	pid := func() (n int) {
		_, _ = fmt.Sscan(e.must("", "pid", nil), &n)
		return n
	}

	p.kill(pid()) // between calls
	p.start()
	e.must("again", "echo", map[string]any{"text": "again"})
	e.hears("notifications/tools/list_changed") // something may have been missed

	during := func(tool string) (string, error) {
		mark := filepath.Join(t.TempDir(), "mark")
		at := pid()
		type end struct {
			text string
			err  error
		}
		ended := make(chan end, 1)
		go func() {
			text, err := e.call(tool, map[string]any{"mark": mark})
			ended <- end{text, err}
		}()
		marked(t, mark)
		p.kill(at)
		p.start()
		got := <-ended
		return got.text, got.err
	}
	if text, err := during("look"); err != nil || text != "at last" {
		t.Errorf("a safe call: %q, %v", text, err)
	}
	text, err := during("deploy")
	if err == nil || !strings.Contains(err.Error(), "the outcome of tool deploy at server real is unknown") || !strings.Contains(err.Error(), "not called again") {
		t.Errorf("an unsafe call: %q, %v", text, err)
	}
	e.must("still", "echo", map[string]any{"text": "still"})
}
