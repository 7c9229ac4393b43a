package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"junction/router/bridge"
	"junction/router/mcp"
)

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
