package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/router/mcp"
)

// benchServer answers with 1 KiB. The same for both benchmarks.
func benchServer(b *testing.B) string {
	b.Helper()
	s := mcpserver.NewMCPServer("bench", "1")
	s.AddTool(protocol.NewToolWithRawSchema("get", "", []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)), getKiB)
	ts := httptest.NewServer(mcpserver.NewStreamableHTTPServer(s))
	b.Cleanup(ts.Close)
	return ts.URL
}

// BenchmarkBareClient is mcp-go's own client on the server of BenchmarkCall,
// with as many connections kept.
func BenchmarkBareClient(b *testing.B) {
	url := benchServer(b)
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConnsPerHost = 100
	defer pool.CloseIdleConnections()
	tr, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(&http.Client{Transport: pool}))
	if err != nil {
		b.Fatal(err)
	}
	c := mcpclient.NewClient(tr)
	defer c.Close()
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Initialize(b.Context(), protocol.InitializeRequest{}); err != nil {
		b.Fatal(err)
	}
	r := protocol.CallToolRequest{Params: protocol.CallToolParams{Name: "get", Arguments: map[string]any{"path": "a.go"}}}
	atCallers(b, func() error {
		_, err := c.CallTool(b.Context(), r)
		return err
	})
}

func BenchmarkCall(b *testing.B) {
	s := &router.Server{ID: "bench", Dial: router.Dial{URL: benchServer(b)}}
	c := newClient(b, nil)
	k := call("get", map[string]any{"path": "a.go"})
	atCallers(b, func() error {
		_, err := c.Call(b.Context(), s, k)
		return err
	})
}

// BenchmarkWire makes the calls of BenchmarkCall over a wire, which reads nothing of
// their results.
func BenchmarkWire(b *testing.B) {
	s := &router.Server{ID: "bench", Dial: router.Dial{URL: benchServer(b)}}
	w, e := newClient(b, nil).Open(b.Context(), s, mcp.Greeting{}, mcp.Events{})
	if e != nil {
		b.Fatal(e)
	}
	r := mcp.Request{Method: "tools/call", Params: []byte(`{"name":"get","arguments":{"path":"a.go"}}`)}
	atCallers(b, func() error {
		_, e := w.Do(b.Context(), &r)
		if e != nil {
			return e
		}
		return nil
	})
}

func atCallers(b *testing.B, f func() error) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			work := make(chan struct{})
			failed := make(chan error, n)
			for range n {
				go func() {
					var first error
					for range work {
						if err := f(); err != nil && first == nil {
							first = err
						}
					}
					failed <- first
				}()
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			for range n {
				if err := <-failed; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func getKiB(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
	return protocol.NewToolResultText(strings.Repeat("x", 1024)), nil
}
