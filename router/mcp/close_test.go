package mcp_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
)

func TestDescribeCallForgetAndCloseAtOnce(t *testing.T) {
	overHTTP, _ := raw(t, &scripted{session: "wire-session-1", call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)})
	for range 5 {
		c := mcp.New(nil)
		servers := []*router.Server{overHTTP, stdioServer(t, "modern")}
		var wg sync.WaitGroup
		var done atomic.Int64
		half := make(chan struct{})
		for i := range 16 {
			wg.Go(func() {
				s := servers[i%2]
				for n := range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+n*i)*time.Millisecond)
					var err error
					switch (i + n) % 5 {
					case 0:
						_, err = c.Describe(ctx, s)
					case 1:
						c.Forget(s.ID)
					default:
						_, err = c.Call(ctx, s, call("echo", map[string]any{"text": "x"}))
					}
					cancel()
					if _, ok := errors.AsType[*router.CallError](err); err != nil && !ok {
						t.Errorf("%T: %v", err, err)
					}
					if done.Add(1) == 100 {
						close(half)
					}
				}
			})
		}
		<-half
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		wg.Wait()
		_, err := c.Call(t.Context(), overHTTP, call("echo", nil))
		if e := callError(t, err); e.Code != router.Transport {
			t.Error(e)
		}
	}
}
