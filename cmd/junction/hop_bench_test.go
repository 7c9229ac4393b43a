package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"junction/router"
	routermcp "junction/router/mcp"
	"junction/state"
	"junction/state/memory"
	"junction/state/redis"
	"junction/state/redis/redistest"
	"junction/state/sqlite"
)

// httpEnv makes the test binary an MCP server over HTTP that answers echo with
// 1 KiB and prints its address.
const httpEnv = "JUNCTION_TEST_HTTP"

func serveEcho() error {
	s := server.NewMCPServer("echo", "1.0.0")
	payload := strings.Repeat("x", 1024)
	echo := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(payload), nil
	}
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: server.NewStreamableHTTPServer(s, server.WithStateLess(true)), ReadHeaderTimeout: time.Minute}
	go func() { // ends with its parent
		if _, err := bufio.NewReader(os.Stdin).ReadByte(); err != nil {
			os.Exit(0)
		}
	}()
	return srv.Serve(l)
}

// startEcho starts the server in a process of its own.
func startEcho(b *testing.B) (url string) {
	b.Helper()
	p := startPiped(b, []string{httpEnv + "=1"})
	addr, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr) + "/mcp"
}

// BenchmarkRoutedHop measures a routed, journaled hop over Streamable HTTP
// beside a bare mcp-go client that calls the same server: each caller makes the
// two in turn, so that both meet the same machine, and the metric ×reference is
// the reference's time over the hop's. A safe hop's record waits for its task's
// writes; a conditional one makes intent and outcome durable, and its reference
// is a bare call between two such commits.
func BenchmarkRoutedHop(b *testing.B) {
	url := startEcho(b)
	bare := bareClient(b, url)
	store := openBenchStore(b)
	r := redistest.Start(b)
	overRedis := openRedis(b, r)
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("safe/callers=%d", callers), func(b *testing.B) {
			h := newHopBench(b, url, state.Safe, memory.New(nil))
			paired(b, callers, func(ctx context.Context, _ int64) error { return callBare(ctx, bare) }, h.hop)
		})
		b.Run(fmt.Sprintf("conditional-sqlite/callers=%d", callers), func(b *testing.B) {
			reference, h := newHopBench(b, url, state.Conditional, store), newHopBench(b, url, state.Conditional, store)
			paired(b, callers, func(ctx context.Context, n int64) error {
				if err := reference.commit(ctx, n, state.CallOpen); err != nil {
					return err
				}
				if err := callBare(ctx, bare); err != nil {
					return err
				}
				return reference.commit(ctx, n, state.CallSuccess)
			}, h.hop)
		})
		b.Run(fmt.Sprintf("conditional-redis/callers=%d", callers), func(b *testing.B) {
			h := newHopBench(b, url, state.Conditional, overRedis)
			eval := bareScript(b, r)
			paired(b, callers, func(ctx context.Context, n int64) error {
				if err := eval(ctx, n, recordBytes); err != nil {
					return err
				}
				if err := callBare(ctx, bare); err != nil {
					return err
				}
				return eval(ctx, n, recordBytes)
			}, h.hop)
		})
	}
}

// recordBytes is about what a record of such a hop takes in a store.
const recordBytes = 600

func openRedis(b *testing.B, r *redistest.Server) state.Store {
	b.Helper()
	store, err := redis.Open(b.Context(), r.Address()+"?prefix=bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closing(b, store) })
	return store
}

// bareScript runs a script that stores so many bytes in a hash, with a client
// that does nothing else.
func bareScript(b *testing.B, r *redistest.Server) func(ctx context.Context, n int64, bytes int) error {
	b.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: r.Addr(), PoolSize: 100})
	b.Cleanup(func() { closing(b, c) })
	script := goredis.NewScript(`return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])`)
	return func(ctx context.Context, n int64, bytes int) error {
		return script.Run(ctx, c, []string{"bare"}, n, strings.Repeat("x", bytes)).Err()
	}
}

func bareClient(b *testing.B, url string) *client.Client {
	b.Helper()
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConnsPerHost = 100
	tr, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(&http.Client{Transport: pool}))
	if err != nil {
		b.Fatal(err)
	}
	c := client.NewClient(tr)
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	init := mcp.InitializeRequest{}
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "bare", Version: "1"}
	if _, err := c.Initialize(b.Context(), init); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		pool.CloseIdleConnections()
	})
	return c
}

func callBare(ctx context.Context, c *client.Client) error {
	r := mcp.CallToolRequest{}
	r.Params.Name = "echo"
	r.Params.Arguments = map[string]any{"text": "hello"}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := c.CallTool(ctx, r)
	return err
}

type benchCall func(ctx context.Context, n int64) error

// paired has callers make the reference and the hop in turn, b.N times in all,
// and reports the mean of each and their ratio. Each caller makes both a few times
// before, so that handshakes and connections are there for either.
func paired(b *testing.B, callers int, reference, hop benchCall) {
	b.Helper()
	var next, spent [2]atomic.Int64
	calls := [2]benchCall{reference, hop}
	pair := func(n int64) error {
		for i := range calls {
			which := (int(n) + i) % 2 // neither always goes first
			begun := time.Now()
			if err := calls[which](b.Context(), next[which].Add(1)); err != nil {
				return err
			}
			spent[which].Add(int64(time.Since(begun)))
		}
		return nil
	}
	pairs := func(times int) {
		var left atomic.Int64
		left.Store(int64(times))
		var group errgroup.Group
		for range callers {
			group.Go(func() error {
				for n := left.Add(-1); n >= 0; n = left.Add(-1) {
					if err := pair(n); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	pairs(4 * callers)
	spent[0].Store(0)
	spent[1].Store(0)
	b.ResetTimer()
	pairs(b.N)
	b.StopTimer()
	b.ReportMetric(float64(spent[0].Load())/float64(b.N), "reference-ns")
	b.ReportMetric(float64(spent[1].Load())/float64(b.N), "hop-ns")
	b.ReportMetric(float64(spent[0].Load())/float64(spent[1].Load()), "×reference")
}

// fixedServers is a discovery of one server.
type fixedServers struct{ snapshot *router.Snapshot }

func (f fixedServers) Snapshot() *router.Snapshot    { return f.snapshot }
func (f fixedServers) Refresh(context.Context) error { return nil }

type hopBench struct {
	router *router.Router
	store  state.Store
	lease  state.Lease
	thread string
	effect state.Effect
}

func openBenchStore(b *testing.B) state.Store {
	b.Helper()
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closing(b, store) })
	return store
}

var benchThreads atomic.Int64

func newHopBench(b *testing.B, url string, effect state.Effect, store state.Store) *hopBench {
	b.Helper()
	c := routermcp.New(nil)
	b.Cleanup(func() {
		if err := c.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	s := &router.Server{ID: "echo", Name: "echo", Dial: router.Dial{URL: url}, Offers: []router.Offer{{
		Capability: "echo", Tool: "echo", Effect: effect, Key: "_meta.key", Ledger: router.Ledger{Name: "echo"},
	}}}
	h := &hopBench{
		router: router.New(fixedServers{&router.Snapshot{Servers: []*router.Server{s}, Version: 1}}, c, nil),
		store:  store, effect: effect, thread: "bench-" + strconv.FormatInt(benchThreads.Add(1), 10),
	}
	if _, err := store.CreateThread(b.Context(), state.NewThread{ID: h.thread, Workflow: "bench", Lineage: "l"}); err != nil {
		b.Fatal(err)
	}
	var err error
	if h.lease, err = store.Acquire(b.Context(), h.thread, "bench", time.Hour); err != nil {
		b.Fatal(err)
	}
	return h
}

// hop makes one hop as a task of its own.
func (h *hopBench) hop(ctx context.Context, n int64) error {
	j := state.NewJournal(state.Scope{Thread: h.thread, Lineage: "l", Seq: 1, Step: 1, Task: strconv.FormatInt(n, 10), Node: "n"},
		state.JournalOptions{Store: h.store, Lease: func() state.Lease { return h.lease }})
	_, err := h.router.Do(state.WithJournal(ctx, j), state.Call{Capability: "echo", With: map[string]any{"text": "hello"}})
	return err
}

// commit is what a conditional hop makes durable before and after its call.
func (h *hopBench) commit(ctx context.Context, n int64, status state.CallStatus) error {
	return h.store.PutRecords(ctx, h.lease, []state.Record{{
		Thread: h.thread, Seq: 1, Step: 1, Task: strconv.FormatInt(n, 10), Node: "n", Hop: strconv.FormatInt(n, 10), Name: "1", Round: 1, Attempt: 1,
		Capability: "echo", Server: "echo", Tool: "echo", Effect: h.effect, InputHash: "0123456789abcdef", Status: status,
	}})
}
