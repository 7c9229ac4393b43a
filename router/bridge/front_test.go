package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
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

func TestAnIDIsGivenBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	h := holdBack("x")
	p := newPeer(t, frontHandler{begin: h.begin}, nil)
	ids := []string{`1`, `1.0`, `"1"`, `-3`, `1e2`, `100`, `"\u0061"`, `"a"`, `"é\n\""`, `12345678901234567890123`, `""`}
	for _, id := range ids {
		p.send(`{"jsonrpc":"2.0","id": ` + id + ` ,"method":"x"}` + "\n")
	}
	for range ids {
		within(t, h.begun) // all are open at once
	}
	close(h.release["x"])
	missing := map[string]bool{}
	for _, id := range ids {
		missing[`{"jsonrpc":"2.0","id":`+id+`,"result":"x"}`] = true
	}
	for range ids {
		line := p.line()
		if !missing[line] {
			t.Errorf("unexpected: %s", line)
		}
		delete(missing, line)
	}
	p.to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
	if err := p.over(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	t.Parallel()
	const prefix = `{"jsonrpc":"2.0",`
	for name, test := range map[string]struct{ line, id, code, says string }{
		"no JSON":               {`{"jsonrpc":`, `null`, `-32700`, "no JSON"},
		"text of a log":         {`hello`, `null`, `-32700`, "no JSON"},
		"too deep":              {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), `null`, `-32700`, "10,000"},
		"a batch":               {`[` + prefix + `"id":1,"method":"ping"}]`, `null`, `-32600`, "batches are not part of the protocol"},
		"an empty batch":        {`[]`, `null`, `-32600`, "batches are not part of the protocol"},
		"a number":              {`17`, `null`, `-32600`, "no message"},
		"null":                  {`null`, `null`, `-32600`, "no message"},
		"an empty object":       {`{}`, `null`, `-32600`, "neither"},
		"an id alone":           {prefix + `"id":7}`, `7`, `-32600`, "neither"},
		"null for an id":        {prefix + `"id":null,"method":"ping"}`, `null`, `-32600`, "id must be"},
		"an object for an id":   {prefix + `"id":{"a":1},"method":"ping"}`, `null`, `-32600`, "id must be"},
		"true for an id":        {prefix + `"id":true,"method":"ping"}`, `null`, `-32600`, "id must be"},
		"an endless id":         {prefix + `"id":"` + strings.Repeat("a", 5000) + `","method":"ping"}`, `null`, `-32600`, "id must be"},
		"two ids":               {prefix + `"id":1,"id":2,"method":"ping"}`, `null`, `-32600`, "twice"},
		"no version":            {`{"id":7,"method":"ping"}`, `7`, `-32600`, "jsonrpc"},
		"version 1":             {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7`, `-32600`, "jsonrpc"},
		"a number for a method": {prefix + `"id":7,"method":3}`, `7`, `-32600`, "method"},
		"no name for a method":  {prefix + `"id":7,"method":""}`, `7`, `-32600`, "method"},
		"request and answer":    {prefix + `"id":7,"method":"ping","result":{}}`, `7`, `-32600`, "at once"},
		"a list of parameters":  {prefix + `"id":7,"method":"ping","params":[1]}`, `7`, `-32602`, "object"},
		"no UTF-8":              {prefix + `"id":7,"method":"ping","params":{"a":"` + "\xff" + `"}}`, `7`, `-32600`, "UTF-8"},
		"no UTF-8 in its id":    {prefix + `"id":"` + "\xff" + `","method":"ping"}`, `null`, `-32600`, "id must be"},
		"too long":              {prefix + `"id":7,"method":"ping","params":{"a":"` + strings.Repeat("a", 70_000) + `"}}`, `7`, `-32600`, "skipped"},
		"too long, id at the end": {`{"params":{"a":"` + strings.Repeat("a", 70_000) + `"},"method":"ping","jsonrpc":"2.0","id":"seven"}`,
			`"seven"`, `-32600`, "skipped"},
		"too long, id in the middle": {`{"params":{"a":"` + strings.Repeat("a", 70_000) + `"},"id":7,"x":"` + strings.Repeat("a", 3000) + `"}`,
			`null`, `-32600`, "skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, frontHandler{}, &bridge.FrontOptions{MaxMessage: 64 << 10})
			p.send(test.line + "\n")
			line := p.line()
			var got struct {
				ID    json.RawMessage
				Error struct {
					Code    json.RawMessage
					Message string
				}
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			if string(got.ID) != test.id || string(got.Error.Code) != test.code || !strings.Contains(got.Error.Message, test.says) {
				t.Error(line)
			}
			p.send(prefix + `"id":8,"method":"ping"}` + "\n") // and it goes on
			p.expect(prefix + `"id":8,"result":{}}`)
		})
	}
}

func TestWhatCanBeUnderstoodIsTaken(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"plain":             `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		"CR LF":             `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r\n",
		"blank lines":       "\n\r\n  \n\t\r\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		"space all over":    "\t{ \"id\" :\t1 , \"jsonrpc\" : \"2.0\"\r, \"method\" : \"ping\" } \n",
		"escapes in names":  `{"jsonrpc":"2.0","\u0069d":1,"meth\u006fd":"p\u0069ng"}` + "\n",
		"null parameters":   `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}` + "\n",
		"members of others": `{"jsonrpc":"2.0","ID":2,"x":{"id":[3,"}\\\""]},"id":1,"method":"ping"}` + "\n",
		"a byte order mark": "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			methods := make(chan string, 1)
			p := newPeer(t, frontHandler{begin: func(_ context.Context, method string, params json.RawMessage) func() mcp.Reply {
				if params != nil {
					t.Errorf("parameters %s, though there are none", params)
				}
				methods <- method
				return result(`{}`)
			}}, nil)
			p.send(line)
			p.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			if method := <-methods; method != "ping" {
				t.Error(method)
			}
		})
	}
}

func TestALastLineWithoutItsEndIsTaken(t *testing.T) {
	t.Parallel()
	p := newPeer(t, frontHandler{}, nil)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	p.to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
	p.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if err := p.over(); err != nil {
		t.Error(err)
	}
}

func TestTheSecondOfAnIDThatIsOpenIsRefusedAndTheFirstStands(t *testing.T) {
	t.Parallel()
	h := holdBack("first", "second")
	p := newPeer(t, frontHandler{begin: h.begin}, nil)
	p.send(`{"jsonrpc":"2.0","id":7,"method":"first"}` + "\n")
	within(t, h.begun)
	const refused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"`
	for _, second := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"second"}`,
		`{"jsonrpc":"2.0","id":7,"method":"second","params":3}`,
		`{"jsonrpc":"2.0","id":7}`,
	} {
		p.send(second + "\n")
		if line := p.line(); !strings.Contains(line, `"id":null`) || !strings.HasSuffix(line, `"data":{"id":7}}}`) {
			t.Errorf("%s: %s, want what begins with %s", second, line, refused)
		}
	}
	close(h.release["first"])
	p.expect(`{"jsonrpc":"2.0","id":7,"result":"first"}`)
	close(h.release["second"])
	p.send(`{"jsonrpc":"2.0","id":7,"method":"second"}` + "\n") // it is free again
	p.expect(`{"jsonrpc":"2.0","id":7,"result":"second"}`)
}

func TestACancelledRequestEndsAndHasNoAnswer(t *testing.T) {
	t.Parallel()
	h := holdBack("initialize", "long", "short")
	told := make(chan mcp.Notification, 8)
	p := newPeer(t, frontHandler{begin: h.begin, notified: func(n mcp.Notification) { told <- n }}, nil)
	for i, method := range []string{"initialize", "long", "short"} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`+"\n", i, method))
		within(t, h.begun)
	}
	for _, params := range []string{`{"requestId":0}`, `{"requestId":"1"}`, `{"requestId":99}`, `{}`, `{"requestId":{}}`, `{"reason":"x","requestId":1}`, `{"requestId":1}`} {
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}` + "\n")
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n")
	if method := within(t, h.ended); method != "long" {
		t.Errorf("%s ended", method)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	if n := within(t, told); n.Method != "notifications/initialized" {
		t.Errorf("the handler is told of %s", n.Method)
	}
	close(h.release["short"])
	p.expect(`{"jsonrpc":"2.0","id":2,"result":"short"}`)
	close(h.release["initialize"])
	p.expect(`{"jsonrpc":"2.0","id":0,"result":"initialize"}`)
	p.to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
	if line, more := <-p.lines; more {
		t.Errorf("more came: %s", line)
	}
}

func TestRequestsBeyondThoseThatMayBeOpenAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h := holdBack("x")
	p := newPeer(t, frontHandler{begin: h.begin}, &bridge.FrontOptions{Requests: 3})
	for id := range 5 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`+"\n", id))
	}
	for id := 3; id < 5; id++ {
		p.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"3 requests are open, which is as many as may be"}}`, id))
	}
	close(h.release["x"])
	for range 3 {
		if line := p.line(); !strings.HasSuffix(line, `"result":"x"}`) {
			t.Error(line)
		}
	}
}

func TestOpenRequestsHoldABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	h := holdBack("x")
	p := newPeer(t, frontHandler{begin: h.begin}, nil, func(f *bridge.Front) { f.Hold(64 << 10) })
	line := `"method":"x","params":{"a":"` + strings.Repeat("a", 15<<10) + `"}}` + "\n"
	for id := range 5 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id))
		p.send(line)
	}
	if got := p.line(); !strings.Contains(got, `"id":4,"error":{"code":-32000`) || !strings.Contains(got, "bytes") {
		t.Error(got)
	}
	close(h.release["x"])
	for range 4 {
		p.line()
	}
}

func TestAThousandRequestsAtOnceAreAnsweredInAnyOrder(t *testing.T) {
	t.Parallel()
	const many = 1000
	order := rand.New(rand.NewPCG(1, 2)).Perm(many)
	turn := make([]chan struct{}, many+1)
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	var all int
	p := newPeer(t, frontHandler{begin: func(_ context.Context, _ string, params json.RawMessage) func() mcp.Reply {
		var v struct{ N int }
		if json.Unmarshal(params, &v) != nil || v.N != all {
			t.Errorf("%s is taken in as the %dth", params, all) // one at a time: no lock
		}
		if all++; all == many {
			close(turn[0])
		}
		return func() mcp.Reply {
			<-turn[order[v.N]]
			defer close(turn[order[v.N]+1])
			return mcp.Reply{Result: params}
		}
	}}, nil)
	for id := range many {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"x","params":{"n":%d}}`+"\n", id, id))
	}
	seen := make([]bool, many)
	for range many {
		var a struct {
			ID     string
			Result struct{ N int }
		}
		if err := json.Unmarshal([]byte(p.line()), &a); err != nil || a.ID != fmt.Sprint(a.Result.N) || seen[a.Result.N] {
			t.Fatal(a, err)
		}
		seen[a.Result.N] = true
	}
}

func TestAHandlerThatPanicsIsAnInternalError(t *testing.T) {
	t.Parallel()
	p := newPeer(t, frontHandler{
		begin: func(_ context.Context, method string, _ json.RawMessage) func() mcp.Reply {
			switch method {
			case "begin":
				panic("a secret")
			case "nothing":
				return nil
			case "exit":
				return func() mcp.Reply { runtime.Goexit(); return mcp.Reply{} }
			}
			return func() mcp.Reply { panic(errors.New("a secret")) }
		},
		notified: func(mcp.Notification) { panic("a secret") },
	}, nil)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for _, method := range []string{"begin", "nothing", "wait", "exit"} {
		p.send(`{"jsonrpc":"2.0","id":"` + method + `","method":"` + method + `"}` + "\n")
		p.expect(`{"jsonrpc":"2.0","id":"` + method + `","error":{"code":-32603,"message":"an internal error; the log has more"}}`)
	}
}

func TestNothingButProtocolLeaves(t *testing.T) {
	t.Parallel()
	replies := map[string]mcp.Reply{
		"lines":   {Result: json.RawMessage("{\n  \"a\": \"b\\n\",\r\n  \"c\": 1\n}")},
		"bytes":   {Result: json.RawMessage("{\"a\":\"\xff\"}")},
		"none":    {},
		"garbage": {Result: json.RawMessage("{}\n{}")},
		"error":   {Error: &mcp.RPCError{Code: -32001, Message: "a\nb\xff", Data: json.RawMessage("[\n1,\"\xff\"]")}},
		"data":    {Error: &mcp.RPCError{Code: -32001, Message: "m", Data: json.RawMessage("[")}},
	}
	p := newPeer(t, frontHandler{begin: func(_ context.Context, method string, _ json.RawMessage) func() mcp.Reply {
		return func() mcp.Reply { return replies[method] }
	}}, nil)
	for method, want := range map[string]string{
		"lines":   `"result":{"a":"b\n","c":1}}`,
		"bytes":   "\"result\":{\"a\":\"\ufffd\"}}",
		"none":    `"error":{"code":-32603,"message":"the answer has no JSON form"}}`,
		"garbage": `"error":{"code":-32603,"message":"the answer has no JSON form"}}`,
		"error":   "\"error\":{\"code\":-32001,\"message\":\"a\\nb\ufffd\",\"data\":[1,\"\ufffd\"]}}",
		"data":    `"error":{"code":-32001,"message":"m"}}`,
	} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}` + "\n")
		if got := strings.ReplaceAll(p.line(), `\ufffd`, "\ufffd"); got != `{"jsonrpc":"2.0","id":1,`+want {
			t.Errorf("%s: %s", method, got)
		}
	}
	p.front.Notify(mcp.Notification{Method: "x", Params: json.RawMessage("{\n")})
	p.front.Notify(mcp.Notification{Method: "y\n", Params: json.RawMessage("{\n}")})
	p.expect(`{"jsonrpc":"2.0","method":"y\n","params":{}}`)
	p.front.Notify(mcp.Notification{Method: "z"})
	p.expect(`{"jsonrpc":"2.0","method":"z"}`)
}
