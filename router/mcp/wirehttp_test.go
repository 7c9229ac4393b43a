package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// calling is a call of the one tool that a scripted server has.
var calling = mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"echo","arguments":{}}`)}

func TestARefusalBesideWhichTheServerAnswersIsItsAnswer(t *testing.T) {
	t.Parallel()
	body := func(id, code string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"no","data":` + exactData + `}}`
	}
	for name, tc := range map[string]struct {
		modern bool
		status int
		body   string
		code   int // of the server's answer; 0: it is none
		is     router.Code
		did    state.Execution
		retry  time.Duration
		header []string
	}{
		"unknown method":              {modern: true, status: 404, body: body("$ID", "-32601"), code: -32601},
		"bad parameters":              {modern: true, status: 400, body: body("$ID", "-32602"), code: -32602},
		"missing capability":          {modern: true, status: 400, body: body("null", "-32021"), code: -32021},
		"header mismatch, no id":      {modern: true, status: 400, body: `{"jsonrpc":"2.0","error":{"code":-32020,"message":"no","data":` + exactData + `}}`, code: -32020},
		"its own failure":             {modern: true, status: 500, body: body("$ID", "-32603"), code: -32603},
		"a version that went":         {modern: true, status: 400, body: body("$ID", "-32022"), is: router.VersionUnsupported, did: state.NotExecuted},
		"another's answer":            {modern: true, status: 500, body: body("7", "-32603"), is: router.ServerError, did: state.Unknown},
		"a code of nobody":            {modern: true, status: 400, body: body("null", "17"), is: router.ServerError, did: state.Unknown},
		"unauthorized":                {modern: true, status: 401, body: body("$ID", "-32000"), is: router.AuthRequired, did: state.NotExecuted},
		"forbidden":                   {modern: true, status: 403, body: body("$ID", "-32000"), is: router.AuthMismatch, did: state.NotExecuted},
		"too many":                    {modern: true, status: 429, body: body("$ID", "-32000"), is: router.ServerOverload, did: state.NotExecuted, retry: 7 * time.Second, header: []string{"Retry-After", "7"}},
		"away for a while":            {status: 503, is: router.ServerOverload, did: state.NotExecuted, retry: time.Second, header: []string{"Retry-After", "1"}},
		"away":                        {status: 503, is: router.ServerOverload, did: state.Unknown},
		"a proxy lost it":             {status: 502, body: "bad gateway", is: router.ServerError, did: state.Unknown},
		"redirected":                  {status: 307, is: router.Transport, did: state.NotExecuted, header: []string{"Location", "http://127.0.0.2/"}},
		"session lost":                {status: 404, body: body("null", "-32001"), is: router.SessionExpired, did: state.NotExecuted},
		"session lost, its id":        {status: 404, body: body("$ID", "-32001"), is: router.SessionExpired, did: state.NotExecuted},
		"session lost, in words":      {status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, is: router.SessionExpired, did: state.NotExecuted},
		"bad parameters, with status": {status: 400, body: body("$ID", "-32602"), code: -32602},
		"no JSON":                     {status: 200, body: `{"jsonrpc":`, is: router.OutputInvalid, did: state.Unknown},
		"no answer":                   {status: 202, is: router.OutputInvalid, did: state.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &scripted{modern: tc.modern, call: status(tc.status, tc.body, tc.header...)}
			if !tc.modern {
				h.session = "wire-session-0815"
			}
			s, _ := raw(t, h)
			w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
			r, e := w.Do(t.Context(), &calling)
			if tc.code != 0 {
				if e != nil || r.Error == nil || r.Error.Code != tc.code || string(r.Error.Data) != exactData {
					t.Errorf("%+v, %v", r.Error, e)
				}
				return
			}
			if e == nil || e.Code != tc.is || e.Execution != tc.did || e.RetryAfter != tc.retry || strings.Contains(e.Error(), "0815") {
				t.Errorf("%+v, %+v", r.Error, e)
			}
			select {
			case <-w.Gone():
				t.Error("gone, and a server may be back")
			default:
			}
		})
	}
}

func TestAWireFindsOutByARequestThatNobodyListens(t *testing.T) {
	t.Parallel()
	s, ts := raw(t, newWireScript(true))
	ts.Config.SetKeepAlivesEnabled(false) // what is kept may break under a request
	w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
	ts.Close()
	if _, e := w.Do(t.Context(), &calling); e == nil || e.Code != router.Transport || e.Execution != state.NotExecuted {
		t.Errorf("%v", e)
	}
	if e := w.Ping(t.Context()); e == nil {
		t.Error("it answered")
	}
}

func TestAServersOwnStreamIsKeptForAWire(t *testing.T) {
	t.Parallel()
	h := newStandingServer()
	h.open = func(n int, w http.ResponseWriter) bool { return n > 1 } // the first one breaks off
	s, _ := raw(t, h)
	told := make(chan mcp.Notification, 8)
	asked := make(chan string, 8)
	w := open(t, newClient(t, &mcp.Options{Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 5 * time.Millisecond}}), s,
		mcp.Greeting{Capabilities: json.RawMessage(`{"elicitation":{}}`)}, mcp.Events{
			Notified: func(n mcp.Notification) { told <- n },
			Asked: func(_ context.Context, method string, _ json.RawMessage, answer func(mcp.Reply)) {
				asked <- method
				answer(mcp.Reply{Result: json.RawMessage(`{"action":"decline"}`)})
			},
		})
	h.says <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":12345678901234567890}}`
	if n := receive(t, told); n.Method != "notifications/tools/list_changed" || string(n.Params) != `{"n":12345678901234567890}` {
		t.Errorf("%+v", n)
	}
	r := ask(t, w, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"asks","arguments":{}}`)})
	if got := receive(t, asked); got != "elicitation/create" || !strings.Contains(string(r.Result), "decline") {
		t.Errorf("asked %s, answered %s", got, r.Result)
	}
}

func TestASubscriptionsNotificationsReachItsRequestWithoutItsId(t *testing.T) {
	t.Parallel()
	wireServers(t, func(t *testing.T, modern bool, s *router.Server, script *wireScript) {
		if !modern {
			return // it has none
		}
		c := newClient(t, nil)
		w := open(t, c, s, mcp.Greeting{}, mcp.Events{Notified: func(n mcp.Notification) { t.Errorf("told of %+v", n) }})
		var got []string
		ask(t, w, mcp.Request{Method: "x/subscribe", Notify: func(n mcp.Notification) { got = append(got, n.Method+" "+string(n.Params)) }})
		want := `notifications/x {"n":1}`
		if script != nil { // on its stream all is its own
			want += `, notifications/y {"n":2,"_meta":{"k":1}}`
		} else if c.Strays(s.ID)[mcp.UnknownToken] != 1 {
			t.Error("word of a subscription that nobody has was not counted")
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("told %q", got)
		}
	})
}

func TestAWireRepeatsInHeadersWhatTheLaterEraWantsRepeated(t *testing.T) {
	t.Parallel()
	script := newWireScript(true)
	var mu sync.Mutex
	headers := map[string]http.Header{}
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := peek(r)
		mu.Lock()
		headers[r.Header.Get("Mcp-Method")] = r.Header.Clone()
		mu.Unlock()
		if strings.Contains(body, `"method":"tools/list"`) {
			answer(w, string(idOf([]byte(body))), `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`)
			return
		}
		script.ServeHTTP(w, r)
	}))
	w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
	ask(t, w, mcp.Request{Method: "tools/list"})
	for method, params := range map[string]string{
		"tools/call":     `{"arguments":{"region":"eu"},"n\u0061me":"echo"}`,
		"prompts/get":    `{"name":"greet"}`,
		"resources/read": `{"uri":"file:///a"}`,
		"tasks/get":      `{"taskId":"t-1"}`,
	} {
		ask(t, w, mcp.Request{Method: method, Params: json.RawMessage(params)})
	}
	mu.Lock()
	defer mu.Unlock()
	for method, name := range map[string]string{"tools/call": "echo", "prompts/get": "greet", "resources/read": "file:///a", "tasks/get": "t-1"} {
		h := headers[method]
		if h.Get("Mcp-Name") != name || h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %v", method, h)
		}
	}
	if h := headers["tools/call"]; h.Get("Mcp-Param-Region") != "eu" || h.Get("X-MCP-Timeout-Seconds") == "" {
		t.Errorf("tools/call: %v", h)
	}
}

// leaver ends the stream of a call before its answer, on purpose, and answers who
// asks for the rest.
type leaver struct {
	scripted
	gone  func() // called once the stream was ended
	asked atomic.Int32
}

func newLeaver(gone func()) *leaver {
	l := &leaver{gone: gone}
	l.session = "s"
	var id string
	l.call = func(w http.ResponseWriter, _ *http.Request, i string) {
		id = i
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "retry: 1\nid: e-1\ndata:\n\n")
		l.gone()
	}
	l.rest = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") != "e-1" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if l.asked.Add(1) == 1 {
			return // not yet
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, fine)
	}
	return l
}

func TestAStreamThatWasEndedOnPurposeIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	s, _ := raw(t, newLeaver(func() {}))
	told := make(chan string, 1)
	w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{Notified: func(n mcp.Notification) { told <- n.Method }})
	if r := ask(t, w, calling); string(r.Result) != fine {
		t.Errorf("%s", r.Result)
	}
	if got := receive(t, told); got != "notifications/x" {
		t.Errorf("told of %s", got)
	}
}

func TestARequestWhoseStreamCannotBeTakenUpAgainMayHaveBeenExecuted(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(c *mcp.Client, s *router.Server) *router.CallError{
		"of a wire": func(c *mcp.Client, s *router.Server) *router.CallError {
			w, e := c.Open(t.Context(), s, mcp.Greeting{}, mcp.Events{})
			if e != nil {
				t.Fatal(e)
			}
			_, e = w.Do(t.Context(), &calling)
			return e
		},
		"of a hop": func(c *mcp.Client, s *router.Server) *router.CallError {
			_, err := c.Call(t.Context(), s, call("echo", nil))
			e, _ := errors.AsType[*router.CallError](err)
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ts *httptest.Server
			s, srv := raw(t, newLeaver(func() { ts.Listener.Close() }))
			ts = srv
			ts.Config.SetKeepAlivesEnabled(false) // so that the rest needs a connection of its own
			if e := request(newClient(t, nil), s); e == nil || e.Execution != state.Unknown {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAWireCarriesWhatARealServerSays(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		for name, s := range map[string]*router.Server{
			"stdio": stdioServer(t, map[bool]string{true: "modern", false: "legacy"}[modern]),
			"http":  first(httpServer(t, modern, nil)),
		} {
			t.Run(fmt.Sprint(name, ", modern ", modern), func(t *testing.T) {
				t.Parallel()
				changed := make(chan struct{}, 8)
				w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{Notified: func(n mcp.Notification) {
					if n.Method == "notifications/tools/list_changed" {
						changed <- struct{}{}
					}
				}})
				r := ask(t, w, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"big","arguments":{}}`)})
				if !strings.Contains(string(r.Result), `"n":9007199254740993`) {
					t.Errorf("%s", r.Result)
				}
				var told atomic.Int32
				ask(t, w, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"steps","arguments":{"at":[1,2,3],"every":20}}`),
					Progress: func(json.RawMessage) { told.Add(1) }})
				if told.Load() == 0 {
					t.Error("no progress was told")
				}
				if !modern {
					ask(t, w, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"grow","arguments":{}}`)})
					receive(t, changed)
				}
				if r := ask(t, w, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"none","arguments":{}}`)}); r.Error == nil {
					t.Errorf("a tool that there is not: %s", r.Result)
				}
			})
		}
	}
}

func first[A, B any](a A, _ B) A { return a }
