package bridge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// trial is a request that a test makes.
type trial struct {
	method string
	cancel context.CancelFunc
	wait   func() (mcp.Reply, *router.CallError)
	done   chan struct{}
	got    fate
	at     time.Time
}

// begin begins a request and waits for its fate aside.
func begin(t *testing.T, l *Line, method string, again bool) *trial {
	return taken(t, l, method, again).awaited()
}

// taken is a request whose fate nobody waits for yet.
func taken(t *testing.T, l *Line, method string, again bool) *trial {
	ctx, cancel := context.WithCancel(t.Context())
	a := &trial{method: method, cancel: cancel, done: make(chan struct{})}
	a.wait = l.Begin(ctx, &Request{
		Method: method, Again: again,
		Make: func(Session) *mcp.Request { return &mcp.Request{Method: method} },
	})
	return a
}

// awaited has somebody wait for its fate.
func (a *trial) awaited() *trial {
	go func() {
		defer close(a.done)
		reply, err := a.wait()
		a.got, a.at = fate{reply, err}, time.Now()
	}()
	return a
}

// open says whether it has no fate when all is quiet.
func (a *trial) open() bool {
	synctest.Wait()
	return !ended(a.done)
}

// answered fails the test unless the request has a result.
func (a *trial) answered(t *testing.T) {
	t.Helper()
	<-a.done
	if a.got.err != nil {
		t.Fatalf("%s failed: %v", a.method, a.got.err)
	}
	if want := fmt.Sprintf("%q", a.method); string(a.got.reply.Result) != want {
		t.Fatalf("%s was answered %s", a.method, a.got.reply.Result)
	}
}

// failed fails the test unless the request has that error.
func (a *trial) failed(t *testing.T, code router.Code, x state.Execution) *router.CallError {
	t.Helper()
	<-a.done
	if e := a.got.err; e == nil || e.Code != code || e.Execution != x {
		t.Fatalf("%s: %s %v; want %s, %s", a.method, a.got.reply.Result, e, code, x)
	}
	return a.got.err
}
