//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
	"junction/state"
	"junction/state/redis/redistest"
)

// rounds is a thread that makes a safe hop and one under a key, again and again,
// for as long as the servers say so.
const rounds = `
workflow: rounds
recursion_limit: 1000000
state:
  more: {type: boolean}
nodes:
  step: {call: {capability: step, with: {}}, write: {more: "${result.more}"}}
  mark: {call: {capability: mark, with: {}}}
edges:
  - start -> step -> mark
  - {from: mark, when: "${more}", to: step, else: end}
`

// steps is rounds with its safe hop alone.
const steps = `
workflow: steps
recursion_limit: 1000000
state:
  more: {type: boolean}
nodes:
  step: {call: {capability: step, with: {}}, write: {more: "${result.more}"}}
edges:
  - start -> step
  - {from: step, when: "${more}", to: step, else: end}
`

// member is an instance of the service stall: an MCP server that counts its
// calls. It runs in the test's process, so that it outlives agent and workers.
type member struct {
	address string // host and port
	took    time.Duration
	over    *atomic.Bool              // the threads are to end
	ill     atomic.Bool               // its health is answered with 503
	first   atomic.Pointer[time.Time] // when its first call began
	last    atomic.Pointer[time.Time] // when its last call began
	calls   atomic.Int64
	mu      sync.Mutex
	effects map[string]int // executions by key
}

// newMember starts one on l; nil: on a free port of 127.0.0.1. wrap goes before
// its MCP endpoint; nil: nothing does.
func (f *found) newMember(t testing.TB, l net.Listener, wrap func(http.Handler) http.Handler) *member {
	t.Helper()
	m := &member{took: f.took, over: &f.over, effects: map[string]int{}}
	s := server.NewMCPServer("stall", "1.0.0")
	s.AddTool(mcp.NewTool("step"), m.step)
	s.AddTool(mcp.NewTool("mark", mcp.WithString("key")), m.mark)
	var endpoint http.Handler = server.NewStreamableHTTPServer(s, server.WithStateLess(true))
	if wrap != nil {
		endpoint = wrap(endpoint)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if m.ill.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	web := httptest.NewUnstartedServer(mux)
	if l != nil {
		web.Listener.Close()
		web.Listener = l
	}
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	m.address = strings.TrimPrefix(web.URL, "http://")
	return m
}

func (m *member) begin(ctx context.Context) {
	now := time.Now()
	m.first.CompareAndSwap(nil, &now)
	m.last.Store(&now)
	m.calls.Add(1)
	timer := time.NewTimer(m.took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (m *member) step(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	m.begin(ctx)
	return mcp.NewToolResultStructured(map[string]any{"more": !m.over.Load()}, "done"), nil
}

func (m *member) mark(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	m.begin(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.effects[r.GetString("key", "")]++
	return mcp.NewToolResultStructured(map[string]any{"ok": true}, "done"), nil
}

// found is a fleet whose servers are found in Consul.
type found struct {
	*fleet
	agent *consultest.Agent
	took  time.Duration // of a member's call
	over  atomic.Bool   // the threads are to end
}

// stallOffers is what the operator says of the service; %s are more of its keys.
const stallOffers = `
discovery:
  consul: %s
  services:
    stall:
      max_concurrent: 512%s
      offers:
        - {capability: step, tool: step, effect: safe}
        - {capability: mark, tool: mark, effect: conditional, key: key}
`

// newFound starts an agent. more are lines about the service for the servers
// file, each with its indentation.
func newFound(t testing.TB, more ...string) *found {
	t.Helper()
	f := &found{agent: consultest.Start(t), took: 10 * time.Millisecond}
	f.fleet = &fleet{
		address: redistest.Shared(t).Address() + "?prefix=" + strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprint(time.Now().UnixNano()),
		dir:     t.TempDir(), lease: 3 * time.Second, threads: 8,
	}
	writeFiles(t, f.dir, map[string]string{"junction.yaml": fmt.Sprintf(stallOffers, f.agent.Address(), strings.Join(append([]string{""}, more...), "\n      "))})
	app, err := wire.Open(t.Context(), wire.Settings{Store: f.address, Config: filepath.Join(f.dir, "junction.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, app) })
	f.app = app
	return f
}

// register puts a member into Consul until the test's end, or until it is closed.
func (f *found) register(t testing.TB, m *member, change func(*consul.Service)) *consul.Registration {
	t.Helper()
	s := consul.Service{Name: "stall", Address: m.address, MaxConcurrent: 512, Offers: []router.Offer{
		{Capability: "step", Tool: "step", Effect: state.Safe}, {Capability: "mark", Tool: "mark", Effect: state.Conditional, Key: "key"},
	}}
	if change != nil {
		change(&s)
	}
	r, err := consul.Register(t.Context(), consul.Options{Address: f.agent.Address()}, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(t.Context())) }) // the agent may be gone by then
	return r
}

// more waits until each of the members has got so many more calls.
func more(t testing.TB, what string, n int64, members ...*member) {
	t.Helper()
	before := make([]int64, len(members))
	for i, m := range members {
		before[i] = m.calls.Load()
	}
	until(t, what, func() bool {
		for i, m := range members {
			if m.calls.Load() < before[i]+n {
				return false
			}
		}
		return true
	})
}

// quiet waits until m gets nothing while another gets n calls, and then holds it
// to that for another n.
func quiet(t testing.TB, what string, n int64, m, another *member) {
	t.Helper()
	until(t, what, func() bool {
		before := m.calls.Load()
		more(t, "the other server goes on", n, another)
		return m.calls.Load() == before
	})
	before := m.calls.Load()
	more(t, "the other server goes on", n, another)
	if got := m.calls.Load() - before; got != 0 {
		t.Errorf("%s: it got %d calls after it had got none for a while", what, got)
	}
}

// end lets the threads end, and waits until all are completed.
func (f *found) end(t testing.TB, ids []string, workers ...*fleetWorker) {
	t.Helper()
	f.over.Store(true)
	f.wait(t, ids, time.Minute, func() []*fleetWorker { return workers })
}

// once checks that no key took effect twice at a member or at two of them.
func once(t testing.TB, members ...*member) {
	t.Helper()
	all := map[string]int{}
	for _, m := range members {
		m.mu.Lock()
		for key, n := range m.effects {
			all[key] += n
		}
		m.mu.Unlock()
	}
	if len(all) == 0 {
		t.Error("nothing took effect: the test shows nothing")
	}
	for key, n := range all {
		if n != 1 {
			t.Errorf("key %s took effect %d times", key, n)
		}
	}
}
