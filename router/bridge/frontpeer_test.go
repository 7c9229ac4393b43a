package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"junction/router/bridge"
	"junction/router/mcp"
)

// frontHandler is a handler made of functions; nil ones do the plain thing.
type frontHandler struct {
	begin    func(ctx context.Context, method string, params json.RawMessage) func() mcp.Reply
	notified func(mcp.Notification)
}

func (h frontHandler) Begin(ctx context.Context, method string, params json.RawMessage) func() mcp.Reply {
	if h.begin == nil {
		return result(`{}`)
	}
	return h.begin(ctx, method, params)
}

func (h frontHandler) Notified(n mcp.Notification) {
	if h.notified != nil {
		h.notified(n)
	}
}

func result(raw string) func() mcp.Reply {
	return func() mcp.Reply { return mcp.Reply{Result: json.RawMessage(raw)} }
}

// heldBack answers a request once its name is released.
type heldBack struct {
	begun   chan string
	release map[string]chan struct{}
	ended   chan string
}

func holdBack(names ...string) *heldBack {
	h := &heldBack{begun: make(chan string, 64), ended: make(chan string, 64), release: map[string]chan struct{}{}}
	for _, name := range names {
		h.release[name] = make(chan struct{})
	}
	return h
}

func (h *heldBack) begin(ctx context.Context, method string, _ json.RawMessage) func() mcp.Reply {
	h.begun <- method
	return func() mcp.Reply {
		select {
		case <-h.release[method]:
		case <-ctx.Done():
			h.ended <- method
		}
		return mcp.Reply{Result: json.RawMessage(`"` + method + `"`)}
	}
}

// frontPeer is the client of a front.
type frontPeer struct {
	t      *testing.T
	front  *bridge.Front
	to     *io.PipeWriter
	lines  chan string
	served chan error
	stop   context.CancelFunc
}

func newPeer(t *testing.T, h bridge.Handler, o *bridge.FrontOptions, before ...func(*bridge.Front)) *frontPeer {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	p := &frontPeer{t: t, front: bridge.NewFront(in, out, h, o), to: to, lines: make(chan string, 1), served: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	for _, set := range before {
		set(p.front)
	}
	go func() { p.served <- p.front.Serve(ctx); out.Close() }() //nolint:errcheck // a pipe's writer cannot fail to close
	go func() {
		defer close(p.lines)
		for s := bufio.NewReader(from); ; {
			line, err := s.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	}()
	t.Cleanup(func() {
		stop()
		in.Close() //nolint:errcheck // a pipe's reader cannot fail to close
		for range p.lines {
			continue // the rest
		}
	})
	return p
}

func (p *frontPeer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.to, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *frontPeer) line() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the front has closed its output")
		}
		return strings.TrimSuffix(line, "\n")
	case <-time.After(20 * time.Second):
		p.t.Fatal("nothing came")
	}
	return ""
}

func (p *frontPeer) expect(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// over waits for the end of Serve.
func (p *frontPeer) over() error {
	p.t.Helper()
	return within(p.t, p.served)
}

func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("it takes too long")
		panic("unreachable")
	}
}
