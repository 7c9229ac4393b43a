package mcp_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

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

func TestTheWiresSessionIdIsNotShown(t *testing.T) {
	const wire = "wire-session-0815"
	s, _ := raw(t, &scripted{session: wire, call: status(500, "session "+wire+" broke")})
	_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
	if e := callError(t, err); strings.Contains(e.Error(), wire) || !strings.Contains(e.Message, "[masked]") {
		t.Error(e)
	}
}
