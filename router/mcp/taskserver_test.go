package mcp_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
)

// taskDir names the directory in which a [taskServer] played by a child keeps
// its tasks.
const taskDir = "MCP_TEST_TASKS"

// taskServer makes a task of each call of its tool "long", and keeps it in a
// directory: any process that serves the directory knows the tasks, and the test
// is the worker that ends them.
type taskServer struct {
	modern bool
	dir    string
	poll   int // ms between questions, as it suggests; 0: 50
}

func (s *taskServer) path(name string) string { return filepath.Join(s.dir, name) }

// note keeps what was asked, one request a line.
func (s *taskServer) note(line string) {
	f, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// asked counts the requests of a method.
func (s *taskServer) asked(method string) int {
	return strings.Count("\n"+s.logged(), "\n"+method+" ")
}

func (s *taskServer) logged() string {
	b, err := os.ReadFile(s.path("log"))
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	return string(b)
}

// set is what the worker does: the members of the task as the server tells them.
func (s *taskServer) set(id, members string) {
	next := s.path(id + ".next")
	if err := os.WriteFile(next, []byte(members), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(next, s.path(id)); err != nil {
		panic(err)
	}
}

// told is a task as the server tells it; false: it does not know it.
func (s *taskServer) told(id string) (map[string]json.RawMessage, bool) {
	b, err := os.ReadFile(s.path(filepath.Base(id)))
	if err != nil {
		return nil, false
	}
	t := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &t); err != nil {
		panic(err)
	}
	if !s.modern { // the result is asked for by itself
		delete(t, "result")
		delete(t, "error")
		delete(t, "inputRequests")
	}
	ttl, poll := "ttlMs", "pollIntervalMs"
	if !s.modern {
		ttl, poll = "ttl", "pollInterval"
	}
	maps.Copy(t, map[string]json.RawMessage{
		"taskId": json.RawMessage(fmt.Sprintf("%q", id)), "createdAt": json.RawMessage(`"2026-07-28T10:00:00Z"`),
		ttl: json.RawMessage("60000"), poll: json.RawMessage(fmt.Sprint(cmp.Or(s.poll, 50))),
	})
	if t["lastUpdatedAt"] == nil {
		t["lastUpdatedAt"] = t["createdAt"]
	}
	return t, true
}

const longTools = `{"tools":[{"name":"long","inputSchema":{"type":"object"},` +
	`"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}},"execution":{"taskSupport":"required"}},` +
	`{"name":"either","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`

// answer is the answer to a request, without its envelope; failed: an error.
func (s *taskServer) answer(body []byte) (result string, failed bool) {
	var req struct {
		Method string `json:"method"`
		Params struct {
			Task      json.RawMessage `json:"task"`
			TaskID    string          `json:"taskId"`
			Responses json.RawMessage `json:"inputResponses"`
			Meta      struct {
				Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		panic(err)
	}
	s.note(req.Method + " " + string(req.Params.Task) + string(req.Params.Responses))
	wants := bytes.Contains(req.Params.Meta.Capabilities, []byte(`"io.modelcontextprotocol/tasks"`))
	switch req.Method {
	case "server/discover":
		if s.modern {
			return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},` +
				`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tasks","version":"1"}}}`, false
		}
	case "initialize":
		return `{"protocolVersion":"2025-11-25","serverInfo":{"name":"tasks","version":"1"},` +
			`"capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}}`, false
	case "tools/list":
		return longTools, false
	case "tools/call":
		if s.modern && !wants || !s.modern && len(req.Params.Task) == 0 {
			return `{"content":[{"type":"text","text":"no task"}],"structuredContent":{"n":0}}`, false
		}
		id := fmt.Sprintf("task-%d", s.asked("tools/call"))
		if _, err := os.Stat(s.path(id)); err != nil {
			s.set(id, `{"status":"working"}`)
		}
		t, _ := s.told(id)
		if s.modern {
			t["resultType"] = json.RawMessage(`"task"`)
			return encode(t), false
		}
		return `{"task":` + encode(t) + `}`, false
	case "tasks/get", "tasks/cancel", "tasks/update", "tasks/result":
		t, known := s.told(req.Params.TaskID)
		switch {
		case s.modern && !wants:
			return `{"code":-32021,"message":"Missing required client capability"}`, true
		case !known:
			return `{"code":-32602,"message":"Failed to retrieve task: Task not found"}`, true
		case req.Method == "tasks/result":
			return s.result(req.Params.TaskID)
		case s.modern && req.Method != "tasks/get":
			return `{"resultType":"complete"}`, false
		}
		return encode(t), false
	}
	return `{"code":-32601,"message":"Method not found"}`, true
}

// result blocks until the task has ended.
func (s *taskServer) result(id string) (string, bool) {
	for range time.Tick(5 * time.Millisecond) {
		b, err := os.ReadFile(s.path(id))
		if err != nil {
			return `{"code":-32602,"message":"Task not found"}`, true
		}
		var t struct{ Result, Error json.RawMessage }
		if err := json.Unmarshal(b, &t); err != nil {
			panic(err)
		}
		if t.Error != nil {
			return string(t.Error), true
		}
		if t.Result != nil {
			return string(t.Result), false
		}
	}
	return "", true
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (s *taskServer) envelope(body []byte) string {
	result, failed := s.answer(body)
	member := "result"
	if failed {
		member = "error"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, idOf(body), member, result)
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || len(idOf(body)) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.modern && r.Header.Get("Mcp-Name") == "" && bytes.Contains(body, []byte(`"method":"tasks/`)) {
		http.Error(w, "no Mcp-Name", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, s.envelope(body)) //nolint:errcheck // the client has gone
}

// serveTasks plays the server over a child's standard streams.
func serveTasks(modern bool) int {
	s := &taskServer{modern: modern, dir: os.Getenv(taskDir)}
	in := bufio.NewReader(os.Stdin)
	var out sync.Mutex
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		if len(idOf(line)) == 0 {
			continue
		}
		if strings.HasSuffix(s.logged(), "exit\n") {
			s.note("exited")
			return 1
		}
		go func() {
			said := s.envelope(line) + "\n"
			out.Lock()
			defer out.Unlock()
			io.WriteString(os.Stdout, said) //nolint:errcheck // nobody is there to be told
		}()
	}
}

// peek reads a request's body and leaves it to be read again.
func peek(r *http.Request) (string, *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body), r
}

// eachTaskServer runs a test against a server with tasks: both transports, both
// eras.
func eachTaskServer(t *testing.T, test func(t *testing.T, s *router.Server, tasks *taskServer)) {
	for _, modern := range []bool{true, false} {
		era := map[bool]string{true: "modern", false: "legacy"}[modern]
		t.Run("stdio, "+era, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: modern, dir: t.TempDir()}
			s := stdioServer(t, "tasks, "+era)
			s.Dial.Env[taskDir] = tasks.dir
			test(t, s, tasks)
		})
		t.Run("http, "+era, func(t *testing.T) {
			t.Parallel()
			tasks := &taskServer{modern: modern, dir: t.TempDir()}
			s, _ := raw(t, tasks)
			test(t, s, tasks)
		})
	}
}
