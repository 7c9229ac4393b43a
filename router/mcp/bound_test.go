package mcp_test

import (
	"testing"

	"junction/router"
	"junction/state"
)

func TestACallThatBelongsToASessionIsNotMadeInAnother(t *testing.T) {
	h := &scripted{session: "wire-session-1"}
	h.call = status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)
	s, _ := raw(t, h)
	c := newClient(t, nil)
	d, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	bound := call("echo", nil)
	bound.Session = d.Session.ID
	if _, err := c.Call(t.Context(), s, bound); err != nil {
		t.Fatal(err)
	}
	expired := func(when string) {
		t.Helper()
		_, err := c.Call(t.Context(), s, bound)
		if e := callError(t, err); e.Code != router.SessionExpired || e.Execution != state.NotExecuted {
			t.Errorf("%s: %v, %s", when, e, e.Execution)
		}
	}
	h.call = status(404, "session not found")
	expired("the server forgot it")
	h.call = status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)
	expired("its connection has gone")
	if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
		t.Errorf("a call of no session: %v", err)
	}
	expired("another has taken its place")
}
