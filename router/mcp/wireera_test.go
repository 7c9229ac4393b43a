package mcp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"junction/router"
	"junction/router/mcp"
)

// without refuses the method before a script, in one of the ways that servers have.
func without(method string, status int, body string, script http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.Contains(string(all), `"method":"`+method+`"`) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(all))
		script.ServeHTTP(w, r)
	}
}

func TestAServerOfBothErasIsSpokenToInThatOfWhoStandsBehind(t *testing.T) {
	t.Parallel()
	overHTTP := func(session string, wrap func(http.Handler) http.Handler) func(t *testing.T) *router.Server {
		return func(t *testing.T) *router.Server {
			script := newWireScript(true)
			script.session = session
			s, _ := raw(t, wrap(script))
			return s
		}
	}
	both := func(h http.Handler) http.Handler { return h }
	later := func(status int, body string) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler { return without("initialize", status, body, h) }
	}
	child := func(role string) func(t *testing.T) *router.Server {
		return func(t *testing.T) *router.Server { return stdioServer(t, role) }
	}
	const refusal = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`
	for name, tc := range map[string]struct {
		server func(t *testing.T) *router.Server
		modern bool // for one of the earlier era
	}{
		"both, stdio":                             {child("wire, modern"), false},
		"the later, dies at another first":        {child("dies at initialize"), true},
		"both, HTTP with sessions":                {overHTTP("s-1", both), false},
		"both, HTTP without":                      {overHTTP("", both), true},
		"the later, HTTP, says so":                {overHTTP("", later(404, refusal)), true},
		"the later, HTTP, says so in another way": {overHTTP("", later(400, "bad request")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := tc.server(t), newClient(t, nil)
			for range 2 { // what the first one learnt does not change it
				if w := open(t, c, s, mcp.Greeting{Earlier: true}, mcp.Events{}); w.Modern() != tc.modern {
					t.Errorf("for a client of the earlier era: modern %v", w.Modern())
				}
				if w := open(t, c, s, mcp.Greeting{}, mcp.Events{}); !w.Modern() {
					t.Error("for a client of the later era: it is not")
				}
			}
		})
	}
}

func TestWhatIsNoMatterOfErasIsNotTriedInAnother(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	_, e := newClient(t, nil).Open(t.Context(), s, mcp.Greeting{Earlier: true}, mcp.Events{})
	if e == nil || e.Code != router.ServerOverload || asked.Load() != 1 {
		t.Errorf("%v, after %d requests", e, asked.Load())
	}
}

func TestAWireSaysWhenTheServersOwnStreamWasAway(t *testing.T) {
	t.Parallel()
	script := newWireScript(false)
	script.session = "s-1"
	var streams atomic.Int32
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && streams.Add(1) == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			return // it ends as soon as it is there
		}
		script.ServeHTTP(w, r)
	}))
	lapsed := make(chan string, 8)
	open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{Lapsed: func() { lapsed <- "lapsed" }})
	receive(t, lapsed)
	receive(t, script.standing)
	if n := len(lapsed); n != 0 || streams.Load() != 2 {
		t.Errorf("told %d times more, after %d streams", n, streams.Load())
	}
}
