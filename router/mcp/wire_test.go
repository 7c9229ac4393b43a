package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// open opens a wire that the test's end closes.
func open(t *testing.T, c *mcp.Client, s *router.Server, g mcp.Greeting, e mcp.Events) *mcp.Wire {
	t.Helper()
	w, fail := c.Open(t.Context(), s, g, e)
	if fail != nil {
		t.Fatal(fail)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		w.Close(ctx)
	})
	return w
}

// ask makes a request that has to be answered.
func ask(t *testing.T, w *mcp.Wire, r mcp.Request) mcp.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reply, e := w.Do(ctx, &r)
	if e != nil {
		t.Fatalf("%s: %v", r.Method, e)
	}
	return reply
}

func TestAWireReturnsResultsAndErrorsAsTheServerWroteThem(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, modern bool, s *router.Server, _ *wireScript) {
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		if w.Modern() != modern {
			t.Fatalf("Modern() = %v", w.Modern())
		}
		if !strings.Contains(string(w.Document()), `"big":12345678901234567890`) {
			t.Errorf("document %s", w.Document())
		}
		if r := ask(t, w, mcp.Request{Method: "x/exact"}); string(r.Result) != exactResult || r.Error != nil {
			t.Errorf("result %s, error %v", r.Result, r.Error)
		}
		r := ask(t, w, mcp.Request{Method: "x/fault"})
		if r.Error == nil || r.Error.Code != -32000 || r.Error.Message != "no < luck" || string(r.Error.Data) != exactData {
			t.Errorf("result %s, error %+v", r.Result, r.Error)
		}
		if r := ask(t, w, mcp.Request{Method: "x/none"}); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("unknown method: %+v", r)
		}
		before := w.Heard()
		if e := w.Ping(t.Context()); e != nil {
			t.Error(e)
		}
		if w.Heard() == before {
			t.Error("the answer to a ping was not heard")
		}
		if _, e := w.Do(t.Context(), &mcp.Request{Method: "initialize"}); e == nil || e.Execution != state.NotExecuted {
			t.Errorf("a second handshake: %v", e)
		}
		_, e := w.Do(t.Context(), &mcp.Request{Method: "x/unsupported"})
		if e == nil || e.Code != router.VersionUnsupported || e.Execution != state.NotExecuted {
			t.Errorf("a version that the server takes no more: %v", e)
		}
	})
}

func TestAWireSaysWhoStandsBehindIt(t *testing.T) {
	t.Parallel()
	info := `{"name":"editor","version":"9","x":12345678901234567890}`
	able := `{"sampling":{"x":{"b":1,"a":2}},"own/thing":{}}`
	for _, modern := range []bool{true, false} {
		script := newWireScript(modern)
		s, _ := raw(t, script)
		w := open(t, newClient(t, nil), s, mcp.Greeting{ClientInfo: json.RawMessage(info), Capabilities: json.RawMessage(able)}, mcp.Events{})
		greeted := script.greeted[0]
		if !strings.Contains(greeted, info) || !strings.Contains(greeted, able) {
			t.Errorf("greeted with %s", greeted)
		}
		echo := func(params string) string {
			return string(ask(t, w, mcp.Request{Method: "x/echo", Params: json.RawMessage(params)}).Result)
		}
		got := echo(`{"n":1.0,"_meta":{"progressToken":"theirs","io.modelcontextprotocol/protocolVersion":"1999-01-01",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"inner"},"io.modelcontextprotocol/related-task":{"taskId":"t"},"traceparent":"00-1"}}`)
		want := `{"n":1.0,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"},"traceparent":"00-1"}}`
		plain := `{"n":1}`
		if modern {
			want = `{"n":1.0,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"inner"},` +
				`"io.modelcontextprotocol/related-task":{"taskId":"t"},"traceparent":"00-1","io.modelcontextprotocol/clientCapabilities":` + able + `}}`
			plain = `{"n":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + able +
				`,"io.modelcontextprotocol/clientInfo":` + info + `}}`
		}
		if got != want {
			t.Errorf("modern %v: sent\n%s\nwant\n%s", modern, got, want)
		}
		if got := echo("{\"n\":\n1}"); got != plain {
			t.Errorf("modern %v: sent\n%s\nwant\n%s", modern, got, plain)
		}
		for _, bad := range []string{`[1]`, `{"_meta":3}`, `{"a":`} {
			if _, e := w.Do(t.Context(), &mcp.Request{Method: "x/echo", Params: json.RawMessage(bad)}); e == nil || e.Execution != state.NotExecuted {
				t.Errorf("parameters %s: %v", bad, e)
			}
		}
	}
}

func TestAWireTellsProgressInOrderBeforeTheAnswerAndDropsWhatIsNobodys(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, _ *wireScript) {
		c := newClient(t, nil)
		w := open(t, c, s, mcp.Greeting{}, mcp.Events{Notified: func(n mcp.Notification) { t.Errorf("told of %s", n.Method) }})
		var got []string
		ask(t, w, mcp.Request{Method: "x/progress", Progress: func(p json.RawMessage) { got = append(got, string(p)) }})
		want := []string{`{"x":{"b":1,"a":2},"progress":0.10}`, `{"x":{"b":1,"a":2},"progress":12345678901234567890}`, `{"x":{"b":1,"a":2},"progress":3}`}
		if !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
		if n := c.Strays(s.ID)[mcp.UnknownToken]; n != 3 {
			t.Errorf("%d unknown tokens counted, want 3", n)
		}
	})
}

func TestAWirePassesNotificationsOnRawAndInOrderDuringAFlood(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, modern bool, s *router.Server, _ *wireScript) {
		var mu sync.Mutex
		var got []string
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{Notified: func(n mcp.Notification) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, string(n.Params))
		}})
		var own []string
		r := mcp.Request{Method: "x/flood"}
		http := s.Dial.URL != ""
		if http {
			r.Notify = func(n mcp.Notification) { own = append(own, string(n.Params)) }
		}
		ask(t, w, r)
		if http {
			got, own = own, got
		}
		if len(got) != 5000 || len(own) != 0 {
			t.Fatalf("%d and %d notifications", len(got), len(own))
		}
		for i, p := range got {
			if p != fmt.Sprintf(`{"level":"info","data":%d}`, i) {
				t.Fatalf("notification %d is %s", i, p)
			}
		}
	})
}

func TestAWireCancelsAsEraAndTransportWantIt(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, modern bool, s *router.Server, script *wireScript) {
		c := newClient(t, nil)
		w := open(t, c, s, mcp.Greeting{}, mcp.Events{})
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan struct{})
		done := make(chan *router.CallError, 1)
		go func() {
			_, e := w.Do(ctx, &mcp.Request{Method: "x/hang", Sent: func() { close(sent) }})
			done <- e
		}()
		<-sent
		ask(t, w, mcp.Request{Method: "x/exact"}) // by now the server works on the first
		cancel()
		if e := <-done; e == nil || e.Code != router.Cancelled || e.Execution != state.Unknown {
			t.Fatalf("cancelled: %v", e)
		}
		ask(t, w, mcp.Request{Method: "x/exact"})
		switch {
		case script == nil: // its late answer is counted
			for c.Strays(s.ID)[mcp.LateAnswer] == 0 {
				ask(t, w, mcp.Request{Method: "x/exact"})
			}
		case modern:
			receive(t, script.closed)
		default:
			receive(t, script.notices)
		}
		w.Close(t.Context()) // what was on its way to the server has arrived
		if script != nil && len(script.notices) != 0 {
			t.Error("a notice of the cancel, or a second one")
		}
	})
}

func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

func TestARequestCancelledBeforeItIsSentIsNotSent(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, _ *wireScript) {
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, e := w.Do(ctx, &mcp.Request{Method: "x/exact", Sent: func() {}})
		if e == nil || e.Code != router.Cancelled || e.Execution != state.NotExecuted {
			t.Errorf("%v", e)
		}
	})
}

func TestAServersRequestsAreAnsweredFromAnywhere(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, _ *wireScript) {
		asked := func(_ context.Context, method string, params json.RawMessage, answer func(mcp.Reply)) {
			go func() {
				if string(params) != exactResult {
					t.Errorf("asked with %s", params)
				}
				if method == "x/own" {
					answer(mcp.Reply{Error: &mcp.RPCError{Code: -1, Message: "no", Data: json.RawMessage(exactData)}})
				}
				answer(mcp.Reply{Result: json.RawMessage(exactResult)})
			}()
		}
		w := open(t, newClient(t, nil), s, mcp.Greeting{Capabilities: json.RawMessage(`{"sampling":{}}`)}, mcp.Events{Asked: asked})
		for method, want := range map[string]string{
			"sampling/createMessage": `[{"jsonrpc":"2.0","id":"q0","result":` + exactResult + `}]`,
			"x/own":                  `[{"jsonrpc":"2.0","id":"q0","error":{"code":-1,"message":"no","data":{"z":9007199254740993,"a":[1.0],"\u0061b":"\u003c"}}}]`,
			"ping":                   `[{"jsonrpc":"2.0","id":"q0","result":{}}]`,
			"roots/list":             `[{"jsonrpc":"2.0","id":"q0","error":{"code":-32601,"message":"this client does not serve \"roots/list\", and did not say that it does"}}]`,
		} {
			r := ask(t, w, mcp.Request{Method: "x/ask", Params: json.RawMessage(`{"method":"` + method + `"}`)})
			if string(r.Result) != want {
				t.Errorf("%s: the server got %s", method, r.Result)
			}
		}
	})
}

func TestAServersRequestEndsWhenItIsWithdrawnOrTheConnectionEnds(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, _ *wireScript) {
		ends := make(chan context.Context, 2)
		answers := make(chan func(mcp.Reply), 2)
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{
			Notified: func(n mcp.Notification) { t.Errorf("told of %s", n.Method) },
			Asked: func(ctx context.Context, _ string, _ json.RawMessage, answer func(mcp.Reply)) {
				ends <- ctx
				answers <- answer
			},
		})
		ask(t, w, mcp.Request{Method: "x/ask", Params: json.RawMessage(`{"method":"x/own","withdraw":true}`)})
		ctx := receive(t, ends)
		receive(t, ctx.Done())
		receive(t, answers)(mcp.Reply{}) // dropped
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Do(t.Context(), &mcp.Request{Method: "x/ask", Params: json.RawMessage(`{"method":"x/own"}`)})
		}()
		ctx = receive(t, ends)
		w.Close(t.Context())
		receive(t, ctx.Done())
		receive(t, answers)(mcp.Reply{})
		receive(t, done)
	})
}

func TestMoreThan64OpenRequestsOfAServerAreRefused(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "wire, legacy")
	var open64 []func(mcp.Reply)
	w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{
		Asked: func(_ context.Context, _ string, _ json.RawMessage, answer func(mcp.Reply)) {
			if open64 = append(open64, answer); len(open64) < 64 {
				return
			}
			all := open64 // one more, where some of these were answered before it came
			open64 = open64[:63:63]
			go func() {
				for _, a := range all {
					a(mcp.Reply{Result: json.RawMessage(`{"ok":1}`)})
				}
			}()
		},
	})
	r := ask(t, w, mcp.Request{Method: "x/ask", Params: json.RawMessage(`{"method":"x/own","count":65}`)})
	if ok, refused := strings.Count(string(r.Result), `"ok":1`), strings.Count(string(r.Result), "too many"); ok+refused != 65 || ok < 64 {
		t.Errorf("%d answered, %d refused", ok, refused)
	}
}

func TestAChildsDeathIsToldWithItsStatusAndLastWords(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "wire, legacy")
	s.Dial.Env["API_TOKEN"] = "s3cr3t-0815"
	var mu sync.Mutex
	var states []mcp.State
	c := newClient(t, &mcp.Options{OnStateChange: func(_ string, st mcp.State) {
		mu.Lock()
		defer mu.Unlock()
		states = append(states, st)
	}})
	w := open(t, c, s, mcp.Greeting{}, mcp.Events{})
	if w.Why() != nil {
		t.Error("gone before its time")
	}
	_, e := w.Do(t.Context(), &mcp.Request{Method: "x/die"})
	if e == nil || e.Code != router.Transport || e.Execution != state.Unknown {
		t.Fatalf("%v", e)
	}
	receive(t, w.Gone())
	why := w.Why()
	if why == nil || !strings.Contains(why.Message, "exit status 3") || len(why.Stderr) != 1 || why.Stderr[0] != "panic: out of ideas; token is [masked]" {
		t.Errorf("%+v", why)
	}
	if _, e := w.Do(t.Context(), &mcp.Request{Method: "x/exact"}); e == nil || e.Execution != state.NotExecuted {
		t.Errorf("after its death: %v", e)
	}
	w.Close(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(states, []mcp.State{mcp.Connecting, mcp.Ready, mcp.Lost}) {
		t.Errorf("states %v", states)
	}
}

func TestAnAnswerThatCannotBeTakenIsOfUnknownExecution(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, _ bool, s *router.Server, script *wireScript) {
		c := newClient(t, &mcp.Options{MaxResponseBytes: 64 << 10})
		w := open(t, c, s, mcp.Greeting{}, mcp.Events{})
		_, e := w.Do(t.Context(), &mcp.Request{Method: "x/large"})
		if e == nil || e.Code != router.OutputInvalid || e.Execution != state.Unknown {
			t.Errorf("too large: %v", e)
		}
		_, e = w.Do(t.Context(), &mcp.Request{Method: "x/wrong"})
		if script != nil && (e == nil || e.Code != router.OutputInvalid || e.Execution != state.Unknown) {
			t.Errorf("wrong id: %v", e)
		} // on a pipe it is no answer at all
		if n := c.Strays(s.ID)[mcp.WrongID]; n != 1 {
			t.Errorf("%d wrong ids counted", n)
		}
	})
}
