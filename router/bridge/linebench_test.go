package bridge

import (
	"context"
	"sync/atomic"
	"testing"

	"junction/router"
	"junction/router/mcp"
)

// instant is a session that answers at once.
type instant struct {
	stand
	heard atomic.Int64
}

func (s *instant) Do(_ context.Context, r *mcp.Request) (mcp.Reply, *router.CallError) {
	r.Sent()
	s.heard.Add(1)
	return mcp.Reply{Result: []byte(`{}`)}, nil
}

func (s *instant) Heard() int64 { return s.heard.Load() }

// BenchmarkLine is what a line adds to a request.
func BenchmarkLine(b *testing.B) {
	l := NewLine(func(context.Context, mcp.Events) (Session, *router.CallError) {
		return &instant{stand: stand{gone: make(chan struct{})}}, nil
	}, nil)
	defer l.Close(context.Background())
	r := &Request{Make: func(Session) *mcp.Request { return &mcp.Request{Method: "tools/call"} }}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	one := func() {
		if _, e := l.Begin(ctx, r)(); e != nil {
			b.Fatal(e)
		}
	}
	one()
	b.ReportAllocs()
	for b.Loop() {
		one()
	}
}
