package hostiletest_test

import (
	"context"
	"errors"
	"flag"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
)

func TestMain(m *testing.M) {
	if hostiletest.Play() {
		return
	}
	// Most of what is tested waits for a clock to run out.
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// way is a transport and an era.
type way struct {
	name         string
	http, modern bool
}

var ways = []way{
	{"stdio, legacy", false, false}, {"stdio, modern", false, true},
	{"http, legacy", true, false}, {"http, modern", true, true},
}

// start starts the server this way.
func (w way) start(t testing.TB, s *hostiletest.Server) *router.Server {
	t.Helper()
	s.Modern = w.modern
	if w.http {
		return s.HTTP(t)
	}
	return s.Stdio(t)
}

// newClient returns a client that the test's end closes.
func newClient(t testing.TB, o mcp.Options) *mcp.Client {
	t.Helper()
	if o.Grace == 0 {
		o.Grace = 50 * time.Millisecond
	}
	c := mcp.New(&o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func callError(t testing.TB, err error) *router.CallError {
	t.Helper()
	e, ok := errors.AsType[*router.CallError](err)
	if !ok {
		t.Fatalf("the error is %v (%T), want a *router.CallError", err, err)
	}
	return e
}

// eventually waits for what another process does; there is no event to wait on.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("not within a minute: ", what)
		}
	}
}

// elsewhere is another host, where nobody has any business. It counts who comes.
type elsewhere struct {
	url     string
	arrived atomic.Int64
}

func newElsewhere(t testing.TB) *elsewhere {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &elsewhere{url: "http://" + l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.arrived.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return e
}
