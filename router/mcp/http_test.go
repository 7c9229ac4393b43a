package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// scripted is a server written by hand: a handshake without surprises, and the
// test's own way with tools/call.
type scripted struct {
	modern  bool
	session string // the session id it gives; "": none
	tools   string // the list; "": one tool "echo"
	call    func(w http.ResponseWriter, r *http.Request, id string)

	mu         sync.Mutex
	handshakes int
	cancelled  []string // request ids of notifications/cancelled
	ended      int      // DELETE requests
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := string(idOf(body))
	is := func(method string) bool { return bytes.Contains(body, []byte(`"method":"`+method+`"`)) }
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete:
		s.ended++
	case is("server/discover") && s.modern:
		answer(w, id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"1"}}}`)
	case is("server/discover"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
	case is("initialize"):
		s.handshakes++
		if s.session != "" {
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		answer(w, id, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"raw","version":"1"},"capabilities":{"tools":{}}}`)
	case is("tools/list"):
		list := s.tools
		if list == "" {
			list = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
		}
		answer(w, id, list)
	case is("notifications/cancelled"):
		s.cancelled = append(s.cancelled, string(body))
		w.WriteHeader(http.StatusAccepted)
	case is("tools/call"):
		s.mu.Unlock()
		defer s.mu.Lock()
		s.call(w, r, id)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (s *scripted) saw() (handshakes, ended int, cancelled []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handshakes, s.ended, s.cancelled
}

func answer(w http.ResponseWriter, id, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

const fine = `{"content":[{"type":"text","text":"fine"}]}`

// status answers with an HTTP status, headers in pairs, and a body.
func status(code int, body string, headers ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, strings.ReplaceAll(body, "$ID", id))
	}
}

// rpc answers with a JSON-RPC error.
func rpc(code int) func(http.ResponseWriter, *http.Request, string) {
	return status(200, fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":"no","data":{"why":"x"}}}`, code))
}

// cut answers with bytes as they are and then breaks the connection.
func cut(raw string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		buf.WriteString(strings.ReplaceAll(raw, "$ID", id))
		buf.Flush()
		conn.Close()
	}
}

func TestEveryOutcomeHasItsCodeAndItsExecution(t *testing.T) {
	const no, maybe = state.NotExecuted, state.Unknown
	body := func(json string) func(http.ResponseWriter, *http.Request, string) { return status(200, json) }
	result := func(json string) func(http.ResponseWriter, *http.Request, string) {
		return body(`{"jsonrpc":"2.0","id":$ID,"result":` + json + `}`)
	}
	for _, tc := range []struct {
		name      string
		answer    func(http.ResponseWriter, *http.Request, string)
		code      router.Code
		execution state.Execution
		only      string // "modern" or "legacy"; "": both
		secret    bool   // a credential is configured
	}{
		{name: "401 without a credential", answer: status(401, "who?"), code: router.AuthRequired, execution: no},
		{name: "401 with a credential", answer: status(401, "who?"), code: router.AuthMismatch, execution: no, secret: true},
		{name: "403", answer: status(403, ""), code: router.AuthMismatch, execution: no},
		{name: "404 without a session", answer: status(404, "page not found"), code: router.Transport, execution: no},
		{name: "404 with a JSON-RPC error", answer: status(404, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`), code: router.CapabilityMismatch, execution: no},
		{name: "405", answer: status(405, ""), code: router.Transport, execution: no},
		{name: "400 without a reason", answer: status(400, "bad"), code: router.ServerError, execution: maybe},
		{name: "400 with -32022", answer: status(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"no"}}`), code: router.VersionUnsupported, execution: no},
		{name: "400 with -32020", answer: status(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32020,"message":"no"}}`), code: router.CapabilityMismatch, execution: no},
		{name: "429", answer: status(429, `{"odd":true}`), code: router.ServerOverload, execution: no},
		{name: "503 bare", answer: status(503, "<html>busy</html>"), code: router.ServerOverload, execution: maybe},
		{name: "503 with Retry-After", answer: status(503, `{"odd":1}`, "Retry-After", "7"), code: router.ServerOverload, execution: no},
		{name: "502", answer: status(502, ""), code: router.ServerError, execution: maybe},
		{name: "504", answer: status(504, ""), code: router.ServerError, execution: maybe},
		{name: "500 with a JSON-RPC error", answer: status(500, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}`), code: router.ServerError, execution: maybe},
		{name: "pointer to the result of what was done", answer: status(303, "", "Location", "/receipt"), code: router.ServerError, execution: state.Unknown},
		{name: "redirect to another origin", answer: status(307, "", "Location", "http://127.0.0.1:1/mcp"), code: router.Transport, execution: no},
		{name: "-32601", answer: rpc(-32601), code: router.CapabilityMismatch, execution: no},
		{name: "-32602", answer: rpc(-32602), code: router.CapabilityMismatch, execution: no},
		{name: "-32603", answer: rpc(-32603), code: router.ServerError, execution: maybe},
		{name: "-32021", answer: rpc(-32021), code: router.CapabilityMismatch, execution: no},
		{name: "-32022", answer: rpc(-32022), code: router.VersionUnsupported, execution: no},
		{name: "-32000, which means nothing", answer: rpc(-32000), code: router.ServerError, execution: maybe},
		{name: "a code of the server's own", answer: rpc(4711), code: router.ServerError, execution: maybe},
		{name: "wrong id", answer: body(`{"jsonrpc":"2.0","id":123456,"result":` + fine + `}`), code: router.OutputInvalid, execution: maybe},
		{name: "no id", answer: body(`{"jsonrpc":"2.0","result":` + fine + `}`), code: router.OutputInvalid, execution: maybe},
		{name: "neither result nor error", answer: body(`{"jsonrpc":"2.0","id":$ID}`), code: router.OutputInvalid, execution: maybe},
		{name: "half a message", answer: body(`{"jsonrpc":"2.0","id":$ID,"result":{"cont`), code: router.OutputInvalid, execution: maybe},
		{name: "no JSON", answer: body("hello"), code: router.OutputInvalid, execution: maybe},
		{name: "HTML", answer: status(200, "<html>", "Content-Type", "text/html"), code: router.OutputInvalid, execution: maybe},
		{name: "202 for a request", answer: status(202, ""), code: router.OutputInvalid, execution: maybe},
		{name: "too large", answer: result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 200<<10) + `"}]}`), code: router.OutputInvalid, execution: maybe},
		{name: "result without content", answer: result(`{}`), code: router.OutputInvalid, execution: maybe},
		{name: "input_required", answer: result(`{"resultType":"input_required","inputRequests":{}}`), code: router.OutputInvalid, execution: maybe},
		{name: "task", answer: result(`{"resultType":"task","taskId":"1"}`), code: router.OutputInvalid, execution: maybe},
		{name: "unknown type of result", answer: result(`{"resultType":"wish","content":[]}`), code: router.OutputInvalid, execution: maybe},
		{name: "connection cut before the answer", answer: cut(""), code: router.Transport, execution: maybe},
		{name: "connection cut in the answer", answer: cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":"), code: router.Transport, execution: maybe},
		{name: "event stream cut", answer: cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n: hi\n\r\n"), code: router.Transport, execution: maybe},
		{name: "event stream without an answer", answer: status(200, ": nothing\n\n", "Content-Type", "text/event-stream"), code: router.OutputInvalid, execution: maybe},
		{name: "event with the wrong id", answer: status(200, "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":"+fine+"}\n\n", "Content-Type", "text/event-stream"), code: router.OutputInvalid, execution: maybe},
		{name: "event too large", answer: status(200, "data: "+strings.Repeat("x", 200<<10)+"\n\n", "Content-Type", "text/event-stream"), code: router.OutputInvalid, execution: maybe},
	} {
		for _, modern := range []bool{true, false} {
			era := map[bool]string{true: "modern", false: "legacy"}[modern]
			if tc.only != "" && tc.only != era {
				continue
			}
			t.Run(tc.name+", "+era, func(t *testing.T) {
				s, _ := raw(t, &scripted{modern: modern, call: tc.answer})
				if tc.secret {
					s.Dial.Headers = map[string]string{"Authorization": "Bearer hunter2hunter2"}
				}
				c := newClient(t, &mcp.Options{MaxResponseBytes: 100 << 10})
				_, err := c.Call(t.Context(), s, call("echo", nil))
				e := callError(t, err)
				if e.Code != tc.code || e.Execution != tc.execution {
					t.Errorf("%s, %s: %s; want %s, %s", e.Code, e.Execution, e.Message, tc.code, tc.execution)
				}
				if strings.HasPrefix(tc.name, "503 with") && e.RetryAfter != 7*time.Second {
					t.Errorf("Retry-After %v", e.RetryAfter)
				}
				if strings.HasPrefix(tc.name, "a code") && (e.RPCCode != 4711 || fmt.Sprint(e.Data) != "map[why:x]") {
					t.Errorf("code %d and data %v are not kept", e.RPCCode, e.Data)
				}
			})
		}
	}
}

func TestALargeStreamOfSmallEventsIsNotTooLarge(t *testing.T) {
	s, _ := raw(t, &scripted{call: func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 100 {
			fmt.Fprintf(w, ": %s\r\n\r\n", strings.Repeat("x", 4<<10))
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\r\n\r\n", id, fine)
	}})
	c := newClient(t, &mcp.Options{MaxResponseBytes: 100 << 10})
	if r, err := c.Call(t.Context(), s, call("echo", nil)); err != nil || r.Text != "fine" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestALostSessionIsMadeAnewOnceAndTheCallRepeated(t *testing.T) {
	for name, loss := range map[string]func(http.ResponseWriter, *http.Request, string){
		"as 404":           status(404, ""),
		"as 404 with JSON": status(404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`),
		"as 400 with text": status(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`),
		"as 503 with text": status(503, "session expired"),
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			h := &scripted{session: "wire-session-1"}
			h.call = func(w http.ResponseWriter, r *http.Request, id string) {
				if calls.Add(1) == 2 { // the server restarted after the first call
					loss(w, r, id)
					return
				}
				answer(w, id, fine)
			}
			s, _ := raw(t, h)
			c := newClient(t, nil)
			before, err := c.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
					t.Fatal(err)
				}
			}
			if n, _, _ := h.saw(); n != 2 || calls.Load() != 3 {
				t.Errorf("%d handshakes and %d calls; want 2 and 3", n, calls.Load())
			}
			after, err := c.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if after.Session.ID == before.Session.ID || after.Session.ContextHash != before.Session.ContextHash ||
				after.Fingerprint != before.Fingerprint {
				t.Errorf("before %+v, after %+v", before.Session, after.Session)
			}
			if &before.Tools[0] != &after.Tools[0] {
				t.Error("an unchanged tool list was parsed again")
			}
		})
	}
}

func TestASessionLostTwiceIsReported(t *testing.T) {
	h := &scripted{session: "s", call: status(404, "")}
	s, _ := raw(t, h)
	_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
	if e := callError(t, err); e.Code != router.SessionExpired || e.Execution != state.NotExecuted {
		t.Errorf("%s %s", e.Code, e.Execution)
	}
	if n, _, _ := h.saw(); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
}

func TestManyCallersShareOneNewHandshake(t *testing.T) {
	var lost atomic.Bool
	var first sync.Once
	h := &scripted{session: "s"}
	var refusals sync.WaitGroup
	const callers = 20
	refusals.Add(callers)
	h.call = func(w http.ResponseWriter, r *http.Request, id string) {
		n, _, _ := h.saw()
		if n == 1 {
			lost.Store(true)
			refusals.Done()
			refusals.Wait() // all of them are lost together
			w.WriteHeader(404)
			return
		}
		answer(w, id, fine)
	}
	s, _ := raw(t, h)
	c := newClient(t, nil)
	if _, err := c.Describe(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
				first.Do(func() { t.Error(err) })
			}
		})
	}
	all.Wait()
	if n, _, _ := h.saw(); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
}

func TestTheSessionEndsWithTheClient(t *testing.T) {
	h := &scripted{session: "s", call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)}
	s, _ := raw(t, h)
	c := mcp.New(nil)
	if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, n, _ := h.saw(); n != 1 {
		t.Errorf("%d DELETE requests, want 1", n)
	}
	_, err := c.Call(t.Context(), s, call("echo", nil))
	if e := callError(t, err); e.Code != router.Transport || e.Execution != state.NotExecuted {
		t.Errorf("after Close: %s %s", e.Code, e.Execution)
	}
}

func TestTheEarlierEraIsToldOfACancelAndTheLaterSeesTheStreamClose(t *testing.T) {
	for _, modern := range []bool{true, false} {
		closed := make(chan struct{})
		h := &scripted{modern: modern, call: func(_ http.ResponseWriter, r *http.Request, _ string) {
			<-r.Context().Done()
			close(closed)
		}}
		s, _ := raw(t, h)
		c := newClient(t, nil)
		_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Max: 100 * time.Millisecond})
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "maximum" {
			t.Errorf("%s %s", e.Code, e.Clock)
		}
		<-closed
		if modern {
			if _, _, told := h.saw(); len(told) > 0 {
				t.Errorf("modern: posted %s", told)
			}
			continue
		}
		eventually(t, "notifications/cancelled", func() bool { _, _, told := h.saw(); return len(told) == 1 })
	}
}

func TestHeadersAndClocksTravelWithTheRequest(t *testing.T) {
	seen := make(chan http.Header, 1)
	s, _ := raw(t, &scripted{modern: true,
		tools: `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`,
		call: func(w http.ResponseWriter, r *http.Request, id string) {
			seen <- r.Header
			w.Header().Set("X-MCP-Actual-Duration", "0.25")
			answer(w, id, fine)
		}})
	s.Dial.Headers = map[string]string{"X-Api-Key": "hunter2hunter2"}
	r, err := newClient(t, nil).Call(t.Context(), s, router.ToolCall{Tool: "echo", Arguments: map[string]any{"region": "eu"}, Max: 9 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	h := <-seen
	for name, want := range map[string]string{
		"X-Api-Key": "hunter2hunter2", "Mcp-Method": "tools/call", "Mcp-Name": "echo",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Param-Region": "eu",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if left := h.Get("X-MCP-Timeout-Seconds"); !strings.HasPrefix(left, "8.") {
		t.Errorf("time left: %q", left)
	}
	if r.Duration != 250*time.Millisecond {
		t.Errorf("the server's own duration: %v", r.Duration)
	}
}

func TestNoCredentialIsShown(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"repeated by the server": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "token "+r.Header.Get("Authorization")+" at "+r.URL.RawQuery+" \x1b[2Jis wrong", 401)
		}),
		"in a broken connection": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cut("")(w, r, "") }),
	} {
		s, ts := raw(t, h)
		s.Dial.URL = strings.Replace(ts.URL, "http://", "http://user:hunter4hunter4@", 1) + "/mcp?key=hunter3hunter3"
		s.Dial.Headers = map[string]string{"Authorization": "Bearer hunter2hunter2"}
		c := newClient(t, nil)
		for range 2 { // the second is told from memory
			_, err := c.Describe(t.Context(), s)
			e := callError(t, err)
			shown := fmt.Sprintf("%v %+v %v", err, *e, e.Err)
			if strings.Contains(shown, "hunter") || strings.Contains(shown, "\x1b") {
				t.Errorf("%s: %q", name, shown)
			}
		}
	}
}

func TestARefusedServerFailsFastAndComesBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := &router.Server{ID: "late", Dial: router.Dial{URL: "http://" + addr + "/mcp"}}
	c := newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: 50 * time.Millisecond, Cap: 100 * time.Millisecond}})
	for range 3 {
		start := time.Now()
		_, err = c.Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "refused") {
			t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	}
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Skip("the port was taken: ", err)
	}
	ts := httptest.NewUnstartedServer(&scripted{call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)})
	ts.Listener.Close()
	ts.Listener = l
	ts.Start()
	defer ts.Close()
	eventually(t, "the server is used as soon as it is there", func() bool {
		_, err := c.Call(t.Context(), s, call("echo", nil))
		return err == nil
	})
}

func TestAHungServerDelaysNobodyElse(t *testing.T) {
	hung, _ := raw(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	hung.ID = "hung"
	good, _ := raw(t, &scripted{call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)})
	c := newClient(t, nil)
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), hung, router.ToolCall{Tool: "echo", Max: 300 * time.Millisecond})
		waiting <- err
	}()
	if _, err := c.Call(t.Context(), good, call("echo", nil)); err != nil {
		t.Error(err)
	}
	e := callError(t, <-waiting)
	if e.Code != router.Timeout || e.Execution != state.NotExecuted || e.Clock != "maximum" {
		t.Errorf("hung in the handshake: %s %s %q", e.Code, e.Execution, e.Clock)
	}
}

func TestManyParallelCallsKeepFewConnections(t *testing.T) {
	var open, most atomic.Int64
	h := &scripted{modern: true, call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)}
	ts := httptest.NewUnstartedServer(h)
	ts.Config.ConnState = func(_ net.Conn, is http.ConnState) {
		switch is {
		case http.StateNew:
			most.Store(max(most.Load(), open.Add(1)))
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	ts.Start()
	t.Cleanup(ts.Close)
	s := &router.Server{ID: "many", Dial: router.Dial{URL: ts.URL}}
	c := newClient(t, &mcp.Options{KeepConnections: 100})
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	eventually(t, "no more than 100 connections stay", func() bool { return open.Load() <= 100 })
}

func TestLinkLocalAddressesAreRefused(t *testing.T) {
	s := &router.Server{ID: "metadata", Dial: router.Dial{URL: "http://169.254.169.254/mcp"}}
	_, err := newClient(t, nil).Describe(t.Context(), s)
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "link-local") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
}

func TestAChangedAddressMeansANewConnection(t *testing.T) {
	ok := status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)
	first, second := &scripted{call: ok}, &scripted{call: ok}
	s, _ := raw(t, first)
	moved, _ := raw(t, second)
	c := newClient(t, nil)
	for _, at := range []*router.Server{s, {ID: s.ID, Dial: s.Dial}, moved, moved} {
		if _, err := c.Call(context.Background(), at, call("echo", nil)); err != nil {
			t.Fatal(err)
		}
	}
	a, _, _ := first.saw()
	b, _, _ := second.saw()
	if a != 1 || b != 1 {
		t.Errorf("%d and %d handshakes, want one each", a, b)
	}
}

func TestAFailedReadingOfTheToolsIsNoCallOfOne(t *testing.T) {
	var lists atomic.Int32
	var calls atomic.Int32
	h := &scripted{call: func(w http.ResponseWriter, _ *http.Request, id string) {
		calls.Add(1)
		rpc(-32602)(w, nil, id) // makes the tools suspect
	}}
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"tools/list"`)) && lists.Add(1) > 1 {
			http.Error(w, "broken", 500)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	c := newClient(t, nil)
	for range 2 {
		_, err := c.Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); e.Execution != state.NotExecuted {
			t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
		}
	}
	if lists.Load() != 2 || calls.Load() != 1 {
		t.Errorf("%d lists and %d calls, want 2 and 1", lists.Load(), calls.Load())
	}
}

func TestAPanicOfTheListenerIsAnErrorOfItsCall(t *testing.T) {
	s, _ := httpServer(t, true, nil)
	c := newClient(t, nil)
	_, err := c.Call(t.Context(), s, router.ToolCall{
		Tool: "steps", Arguments: map[string]any{"at": []any{1}, "every": 1, "hang": true}, Max: 10 * time.Second,
		Progress: func(float64, float64, string) { panic("boom") },
	})
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.Unknown || !strings.Contains(e.Message, "boom") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
}

func TestTheWiresSessionIdIsNotShown(t *testing.T) {
	const wire = "wire-session-0815"
	s, _ := raw(t, &scripted{session: wire, call: status(500, "session "+wire+" broke")})
	_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
	if e := callError(t, err); strings.Contains(e.Error(), wire) || !strings.Contains(e.Message, "[masked]") {
		t.Error(e)
	}
}
