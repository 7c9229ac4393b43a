package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"junction/router/bridge"
	"junction/router/mcp"
)

// BenchmarkFront is what a front alone adds to a request: one after another, over
// pipes in memory.
func BenchmarkFront(b *testing.B) {
	for name, params := range map[string]string{
		"ping":         `{}`,
		"echo of 1KiB": `{"name":"echo","arguments":{"message":"` + strings.Repeat("a", 1000) + `"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			in, to := io.Pipe()
			from, out := io.Pipe()
			f := bridge.NewFront(in, out, frontHandler{begin: func(_ context.Context, _ string, params json.RawMessage) func() mcp.Reply {
				return func() mcp.Reply { return mcp.Reply{Result: params} }
			}}, nil)
			served := make(chan error, 1)
			go func() { served <- f.Serve(context.Background()) }()
			answers := bufio.NewReaderSize(from, 64<<10)
			var line []byte
			b.ReportAllocs()
			for id := 0; b.Loop(); id++ {
				line = fmt.Appendf(line[:0], `{"jsonrpc":"2.0","id":%d,"method":"ping","params":%s}`+"\n", id, params)
				if _, err := to.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := answers.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := to.Close(); err != nil {
				b.Fatal(err)
			}
			if err := <-served; err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkFrontNotify(b *testing.B) {
	f := bridge.NewFront(strings.NewReader(""), io.Discard, frontHandler{}, nil)
	n := mcp.Notification{Method: "notifications/message", Params: json.RawMessage(`{"level":"info","data":"something"}`)}
	b.ReportAllocs()
	for b.Loop() {
		f.Notify(n)
	}
}
