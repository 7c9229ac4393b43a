package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// taskServer is an MCP server over HTTP whose tool build is always a task. It
// speaks 2026-07-28, or 2025-11-25 alone, and outlives whoever calls it.
type taskServer struct {
	modern bool
	url    string

	mu        sync.Mutex
	calls     int
	gets      int
	cancels   int
	completed bool
	asked     chan struct{} // closed at the first question about a task
}

func startTaskServer(t *testing.T, modern bool) *taskServer {
	t.Helper()
	s := &taskServer{modern: modern, asked: make(chan struct{})}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}

// complete lets the task end.
func (s *taskServer) complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.completed = true
}

func (s *taskServer) counts() (calls, gets, cancels int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, s.gets, s.cancels
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// ServeHTTP implements http.Handler.
func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m rpc
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	result, known := s.answer(&m)
	if !known {
		if s.modern {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

const builtResult = `{"content":[{"type":"text","text":"built"}],"structuredContent":{"artifact":"a.tar"}}`

func (s *taskServer) answer(m *rpc) (result string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "server/discover":
		return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"builder","version":"1"}}}`, s.modern
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"builder","version":"1"}}`, !s.modern
	case "tools/list":
		return `{"tools":[{"name":"build","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`, true
	case "tools/call":
		s.calls++
		if s.modern {
			return fmt.Sprintf(`{"resultType":"task",%s}`, s.task()), true
		}
		return fmt.Sprintf(`{"task":{%s}}`, s.task()), true
	case "tasks/get":
		if s.gets++; s.gets == 1 {
			close(s.asked)
		}
		if s.modern && s.completed {
			return fmt.Sprintf(`{%s,"result":%s}`, s.task(), builtResult), true
		}
		return fmt.Sprintf(`{%s}`, s.task()), true
	case "tasks/result":
		return builtResult, !s.modern
	case "tasks/cancel":
		s.cancels++
		return `{}`, true
	}
	return "", false
}

// task is the members of the only task there is.
func (s *taskServer) task() string {
	status := "working"
	if s.completed {
		status = "completed"
	}
	return fmt.Sprintf(`"taskId":"task-1","status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"ttl":null,"pollIntervalMs":50,"pollInterval":50`, status)
}
