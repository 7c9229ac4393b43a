package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"junction/router/bridge"
	"junction/router/mcp"
)

type asking struct {
	reply mcp.Reply
	err   error
}

// ask asks the client, aside.
func (p *frontPeer) ask(ctx context.Context, method string, params string) <-chan asking {
	got := make(chan asking, 1)
	go func() {
		reply, err := p.front.Ask(ctx, method, json.RawMessage(params))
		got <- asking{reply, err}
	}()
	return got
}

// asked reads a request of the front and returns its id.
func (p *frontPeer) asked(method string) string {
	p.t.Helper()
	var q struct {
		JSONRPC, Method string
		ID              string
	}
	if line := p.line(); json.Unmarshal([]byte(line), &q) != nil || q.Method != method || q.JSONRPC != "2.0" || q.ID == "" {
		p.t.Fatalf("not a request for %s: %s", method, line)
	}
	return q.ID
}

func TestTheClientsAnswerFindsTheOneWhoAsked(t *testing.T) {
	t.Parallel()
	p := newPeer(t, frontHandler{}, nil)
	one := p.ask(t.Context(), "roots/list", "{\n\"a\":1}")
	first := p.asked("roots/list")
	two := p.ask(t.Context(), "elicitation/create", `{}`)
	second := p.asked("elicitation/create")
	if len(first) < 20 || first == second {
		t.Errorf("ids %s and %s can be guessed", first, second)
	}
	p.send(`{"jsonrpc":"2.0","id":"` + second + `","error":{"code":-32601,"message":"no","data":[1]}}` + "\n")
	for _, stray := range []string{
		`"id":1,"result":{}`, `"id":"1","result":{}`, `"id":null,"error":{"code":1,"message":"m"}`, `"result":{}`,
		`"id":"` + second + `","result":{}`,
	} {
		p.send(`{"jsonrpc":"2.0",` + stray + "}\n")
	}
	p.send(`{"jsonrpc":"2.0","id":"` + first + `","result":{"roots":[]}}` + "\n")
	if got := within(t, one); got.err != nil || string(got.reply.Result) != `{"roots":[]}` {
		t.Error(got)
	}
	if got := within(t, two); got.err != nil || got.reply.Error.Code != -32601 || string(got.reply.Error.Data) != `[1]` {
		t.Error(got)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	p.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`) // and nothing was said to answers
}

func TestAnAnswerThatCannotBeReadEndsTheQuestion(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"both":       `"result":{},"error":{"code":1,"message":"m"}`,
		"twice":      `"result":{},"result":{}`,
		"odd error":  `"error":"no"`,
		"null error": `"error":null`,
		"no UTF-8":   `"result":{"a":"` + "\xff" + `"}`,
		"too long":   `"result":{"a":"` + strings.Repeat("a", 2000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, frontHandler{}, &bridge.FrontOptions{MaxMessage: 1024})
			got := p.ask(t.Context(), "roots/list", `{}`)
			p.send(`{"jsonrpc":"2.0","id":"` + p.asked("roots/list") + `",` + rest + "}\n")
			if a := within(t, got); a.err == nil || a.reply.Result != nil || a.reply.Error != nil {
				t.Error(a)
			}
		})
	}
}

func TestAQuestionThatNobodyWaitsForIsCancelled(t *testing.T) {
	t.Parallel()
	p := newPeer(t, frontHandler{}, nil)
	why := errors.New("the server is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := p.ask(ctx, "elicitation/create", `{}`)
	id := p.asked("elicitation/create")
	cancel(why)
	if a := within(t, got); !errors.Is(a.err, why) {
		t.Error(a)
	}
	p.expect(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"` + id + `","reason":"the answer is not needed any more"}}`)
	p.send(`{"jsonrpc":"2.0","id":"` + id + `","result":{}}` + "\n") // too late
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	p.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// gate is a client that reads nothing until it is opened.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	got     strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	return g.got.Write(p)
}

func TestQuestionsThatNobodyReadsHoldABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	g := &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
	f := bridge.NewFront(in, g, frontHandler{}, nil)
	f.Hold(100 << 10)
	served := make(chan error, 1)
	go func() { served <- f.Serve(context.Background()) }()
	f.Notify(mcp.Notification{Method: "first"})
	within(t, g.entered)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	large := json.RawMessage(`{"a":"` + strings.Repeat("x", 40<<10) + `"}`)
	for i, want := range []error{context.Canceled, context.Canceled, context.Canceled, bridge.ErrClientBusy} {
		if _, err := f.Ask(gone, "large", large); !errors.Is(err, want) {
			t.Errorf("the %dth: %v", i, err)
		}
	}
	close(g.open)
	to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
	if err := within(t, served); err != nil {
		t.Error(err)
	}
}

func TestQuestionsCancelledBeforeTheyLeaveAreNeverAskedAndTheirNumberIsBounded(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	g := &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
	f := bridge.NewFront(in, g, frontHandler{}, &bridge.FrontOptions{Requests: 3})
	served := make(chan error, 1)
	go func() { served <- f.Serve(context.Background()) }()
	f.Notify(mcp.Notification{Method: "first"})
	within(t, g.entered)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 100 {
		want := context.Canceled
		if i >= 3 {
			want = bridge.ErrClientBusy
		}
		if _, err := f.Ask(gone, "cancelled", nil); !errors.Is(err, want) {
			t.Fatalf("the %dth: %v", i, err)
		}
	}
	if _, err := f.Ask(t.Context(), "odd", json.RawMessage("{")); err == nil {
		t.Error("parameters that are no JSON leave")
	}
	close(g.open)
	to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
	if err := within(t, served); err != nil {
		t.Error(err)
	}
	if got := g.got.String(); got != `{"jsonrpc":"2.0","method":"first"}`+"\n" {
		t.Error(got)
	}
	if _, err := f.Ask(t.Context(), "late", nil); !errors.Is(err, bridge.ErrClientGone) {
		t.Error(err)
	}
	f.Notify(mcp.Notification{Method: "late"}) // goes nowhere
}
