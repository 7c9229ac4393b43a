//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// proxied is junction proxy in a process of its own, with a client of mcp-go at its
// pipes. What the process writes to stdout is checked line by line on its way.
type proxied struct {
	*mcpclient.Client
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Closer
	said *locked
	done chan error // the process's end
	told chan mcp.JSONRPCNotification
}

func proxy(t *testing.T, env []string, args ...string) *proxied {
	t.Helper()
	p := &proxied{t: t, said: new(locked), done: make(chan error, 1), told: make(chan mcp.JSONRPCNotification, 1000)}
	p.cmd = commandIn(context.WithoutCancel(t.Context()), t, t.TempDir(), append([]string{"proxy"}, args...)...)
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p.said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checked, lines := io.Pipe()
	p.in = in
	go func() {
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 16<<20)
		for scan.Scan() {
			if !strings.HasPrefix(scan.Text(), `{"jsonrpc":"2.0"`) {
				t.Errorf("on stdout: %s", scan.Text())
			}
			if _, err := fmt.Fprintln(lines, scan.Text()); err != nil {
				break
			}
		}
		lines.Close() //nolint:errcheck // a pipe's never fails
		p.done <- p.cmd.Wait()
	}()
	p.Client = mcpclient.NewClient(transport.NewIO(checked, in, io.NopCloser(strings.NewReader(""))), mcpclient.WithLegacyProtocolOnly())
	p.OnNotification(func(n mcp.JSONRPCNotification) { p.told <- n })
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = "2025-11-25", mcp.Implementation{Name: "test", Version: "1"}
	if _, err := p.Initialize(ctx, hello); err != nil {
		t.Fatalf("initialize: %v\n%s", err, p.said)
	}
	t.Cleanup(func() { p.end() })
	return p
}

// end closes the client's side and returns how the process ended.
func (p *proxied) end() error {
	p.in.Close() //nolint:errcheck // it may be closed already
	return p.await()
}

func (p *proxied) await() error {
	select {
	case err := <-p.done:
		p.done <- err
		return err
	case <-time.After(30 * time.Second):
		p.t.Errorf("the process has not ended within half a minute\n%s", p.said)
		p.cmd.Process.Kill() //nolint:errcheck // it is being given up
		return errors.New("killed")
	}
}

func (p *proxied) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = tool, args
	result, err := p.CallTool(ctx, r)
	if err != nil {
		return "", err
	}
	return result.Content[0].(mcp.TextContent).Text, nil
}

// awaits waits until stderr has said something so often.
func (p *proxied) awaits(word string, times int) {
	p.t.Helper()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for strings.Count(p.said.String(), word) < times {
		select {
		case <-tick.C:
		case <-limit:
			p.t.Fatalf("stderr does not say %q %d times:\n%s", word, times, p.said)
		}
	}
}

// children are the processes that the proxy has started.
func (p *proxied) children() []int {
	p.t.Helper()
	out, err := exec.Command("pgrep", "-P", fmt.Sprint(p.cmd.Process.Pid)).Output()
	if err != nil {
		return nil
	}
	var all []int
	for _, line := range strings.Fields(string(out)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// counting is the counting server as a command, and the file that it counts in.
func counting(t *testing.T) (args []string, file string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "counts")
	return []string{"--env", countEnv + "=" + file, "--", self}, file
}

func TestAClientKeepsItsConnectionWhenAChildIsKilled(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pgrep"); err != nil {
		t.Skip("pgrep finds the child")
	}
	args, file := counting(t)
	p := proxy(t, nil, args...)
	for n := range 5 {
		if got, err := p.call(t.Context(), "lookup", map[string]any{"n": n}); err != nil || got != fmt.Sprint(n) {
			t.Fatalf("call %d: %q, %v\n%s", n, got, err, p.said)
		}
		children := p.children()
		if len(children) != 1 {
			t.Fatalf("children: %v", children)
		}
		if err := syscall.Kill(children[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.awaits("a server is away", n+1) // what is sent before that has an unknown outcome
	}
	if _, err := p.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil {
		t.Errorf("the list after the last kill: %v", err)
	}
	if err := p.end(); err != nil {
		t.Errorf("it ended with %v\n%s", err, p.said)
	}
	for n, times := range counts(t, file) {
		if times != 1 {
			t.Errorf("%s was looked up %d times", n, times)
		}
	}
}

func TestTheOneServerOfAFileIsReachedWhereALaterVersionOfItSays(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "junction.yaml")
	says := func(command string) {
		t.Helper()
		text := fmt.Sprintf("mcpServers:\n  till:\n    command: %q\n    env: {%s: %q}\n", command, countEnv, filepath.Join(dir, "counts"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says(filepath.Join(dir, "nothing"))
	p := proxy(t, nil, "--server", "till", "--config", file)
	p.awaits("a server cannot be reached", 1)
	says(self)
	p.awaits("a server is connected", 1)
	if got, err := p.call(t.Context(), "lookup", map[string]any{"n": 1}); err != nil || got != "1" {
		t.Errorf("the call: %q, %v\n%s", got, err, p.said)
	}
	if err := p.end(); err != nil {
		t.Errorf("it ended with %v\n%s", err, p.said)
	}
}

func TestASignalEndsAProxyInOrder(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		args, _ := counting(t)
		p := proxy(t, nil, args...)
		if _, err := p.call(t.Context(), "lookup", map[string]any{"n": 1}); err != nil {
			t.Fatal(err)
		}
		children := p.children()
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := p.await(); err != nil {
			t.Errorf("%s: it ended with %v\n%s", signal, err, p.said)
		}
		for _, child := range children {
			if syscall.Kill(child, 0) == nil {
				t.Errorf("%s: child %d lives on", signal, child)
			}
		}
	}
}

// restartable serves echo over HTTP with sessions, at the same address after each
// restart; which forgets the sessions.
type restartable struct {
	t       *testing.T
	address string
	on      *httptest.Server
	header  http.Header // of the last request
	mu      sync.Mutex
}

func (r *restartable) start() {
	r.t.Helper()
	s := server.NewMCPServer("echo", "1")
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text"), mcp.WithReadOnlyHintAnnotation(true)), func(_ context.Context, c mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(c.GetString("text", "")), nil
	})
	over := server.NewStreamableHTTPServer(s)
	at := r.address
	if at == "" {
		at = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		r.t.Fatal(err)
	}
	r.address = l.Addr().String()
	r.on = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.header = q.Header.Clone()
		r.mu.Unlock()
		over.ServeHTTP(w, q)
	}))
	r.on.Listener.Close() //nolint:errcheck // another one takes its place
	r.on.Listener = l
	r.on.Start()
}

func (r *restartable) stop() {
	r.on.CloseClientConnections()
	r.on.Close()
}

func TestAClientKeepsItsConnectionWhenAServerRestartsAndForgetsItsSessions(t *testing.T) {
	t.Parallel()
	s := &restartable{t: t}
	s.start()
	p := proxy(t, []string{"ECHO_TOKEN=s3cret-token"}, "--url", "http://"+s.address+"/mcp", "--header", "X-Echo: Bearer ${ECHO_TOKEN}", "--log-level", "debug", "--trust-hints")
	if _, err := p.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil { // its hints are known then
		t.Fatal(err)
	}
	echo := func(text string) {
		t.Helper()
		if got, err := p.call(t.Context(), "echo", map[string]any{"text": text}); err != nil || got != text {
			t.Errorf("%s: %q, %v\n%s", text, got, err, p.said)
		}
	}
	echo("before")
	s.mu.Lock()
	if got := s.header.Get("X-Echo"); got != "Bearer s3cret-token" {
		t.Errorf("the header is %q", got)
	}
	s.mu.Unlock()
	s.stop()
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		echo("during")
	}()
	wait := time.NewTimer(time.Second)
	<-wait.C
	s.start()
	<-waiting
	echo("after")
	s.stop()
	s.start()
	echo("after a restart that nobody noticed")
	defer s.stop()
	if err := p.end(); err != nil {
		t.Errorf("it ended with %v\n%s", err, p.said)
	}
	if strings.Contains(p.said.String(), "s3cret") {
		t.Errorf("stderr shows the credential:\n%s", p.said)
	}
}
