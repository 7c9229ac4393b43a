package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// A server that refuses a token often repeats it, and a client has no need to know it.
func TestAServersErrorAndItsLogDoNotRepeatWhatTheyWereShown(t *testing.T) {
	t.Parallel()
	const token, session = `hunter2"hunter2`, "wire-session-0815"
	for _, modern := range []bool{true, false} {
		h := &scripted{modern: modern}
		if !modern {
			h.session = session
		}
		h.call = func(w http.ResponseWriter, r *http.Request, id string) {
			said, _ := json.Marshal("no entry with " + r.Header.Get("Authorization") + " in " + session)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":%s}}`+"\n\n", said)
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s,"data":{"n":12345678901234567890,"headers":[%s]}}}`+"\n\n", id, said, said)
		}
		s, _ := raw(t, h)
		s.Dial.Headers = map[string]string{"Authorization": "Bearer " + token}
		var logged string
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{Notified: func(n mcp.Notification) { logged = string(n.Params) }})
		r, e := w.Do(t.Context(), &calling)
		if e != nil || r.Error == nil || r.Error.Code != -32000 {
			t.Fatalf("%+v, %v", r, e)
		}
		shown := r.Error.Message + string(r.Error.Data) + logged
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, session) == !modern {
			t.Errorf("modern %t: it says %s", modern, shown)
		}
		if !strings.Contains(logged, "no entry with ") || !strings.HasPrefix(r.Error.Message, "no entry with ") || !strings.Contains(string(r.Error.Data), `"n":12345678901234567890`) || !json.Valid(r.Error.Data) {
			t.Errorf("modern %t: more than that is gone: %s", modern, shown)
		}
	}
}

// A name that no header can hold fails the request, not the connection.
func TestAMethodThatNoHeaderCanHoldIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	s, _ := raw(t, newWireScript(true))
	w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
	for _, method := range []string{"x/a\r\nX-Injected: 1", "x/\u00e9", "x/ a", "x/\x7f"} {
		_, e := w.Do(t.Context(), &mcp.Request{Method: method})
		if e == nil || e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted {
			t.Errorf("%q: %v", method, e)
		}
	}
	ask(t, w, mcp.Request{Method: "x/exact"})
}

func TestAStreamThatEndsBeforeTheAnswerIsABrokenConnection(t *testing.T) {
	t.Parallel()
	for name, written := range map[string]string{
		"nothing":      "",
		"a comment":    ": wait\n\n",
		"notification": "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n",
	} {
		for _, modern := range []bool{true, false} {
			s, _ := raw(t, &scripted{modern: modern, call: status(200, written, "Content-Type", "text/event-stream")})
			w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
			if _, e := w.Do(t.Context(), &calling); e == nil || e.Code != router.Transport || e.Execution != state.Unknown {
				t.Errorf("%s, modern %t: %v", name, modern, e)
			}
		}
	}
}

// A server holds as much of our memory by its questions as by one message.
func TestAServersOpenRequestsHoldABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	const most, each, asked = 64 << 10, 20 << 10, 8
	answers := make(chan string, asked)
	h := &scripted{}
	h.call = func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range asked {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"x/own\",\"params\":{\"a\":%q}}\n\n", i, strings.Repeat("x", each))
		}
		w.(http.Flusher).Flush()
		for refused := 0; refused < asked-most/each; {
			select {
			case a := <-answers:
				if strings.Contains(a, "too large together") {
					refused++
				}
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", id)
	}
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Body = io.NopCloser(bytes.NewReader(body)); bytes.Contains(body, []byte(`"error":`)) {
			answers <- string(body)
		}
		h.ServeHTTP(w, r)
	}))
	n := 0
	w := open(t, newClient(t, &mcp.Options{MaxResponseBytes: most}), s, mcp.Greeting{}, mcp.Events{
		Asked: func(context.Context, string, json.RawMessage, func(mcp.Reply)) { n++ },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, e := w.Do(ctx, &calling); e != nil {
		t.Fatal(e)
	}
	if n != most/each {
		t.Errorf("%d were let through, want %d", n, most/each)
	}
}
