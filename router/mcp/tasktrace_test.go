package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"junction/router/mcp"
	"junction/state"
)

// trace records what is said about a task, without what names the client and its
// requests.
type trace struct {
	mu    sync.Mutex
	lines []string
}

func (tr *trace) add(format string, a ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines = append(tr.lines, fmt.Sprintf(format, a...))
}

func (tr *trace) text() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.Join(tr.lines, "\n") + "\n"
}

// exchange serves a request and records both sides of it.
func (tr *trace) exchange(h http.Handler, w http.ResponseWriter, r *http.Request, body string) {
	var req struct {
		Method string                     `json:"method"`
		Params map[string]json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		panic(err)
	}
	delete(req.Params, "_meta")
	tr.add("C %s %s", req.Method, encode(req.Params))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	var resp struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(answer.Body.Bytes(), &resp); err != nil {
		panic(err)
	}
	tr.add("S %s", bytes.Join([][]byte{resp.Result, resp.Error}, nil))
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer.Body.Bytes()) //nolint:errcheck // the client has gone
}

// signal is a log that waits for words.
type signal struct {
	words string
	said  chan<- struct{}
}

func (s signal) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(s.words)) {
		s.said <- struct{}{}
	}
	return len(line), nil
}

// traceCancel cancels a call whose worker takes two more looks to notice, and
// then ends as told.
func traceCancel(t *testing.T, modern bool, end string) string {
	tasks, tr := &taskServer{modern: modern, dir: t.TempDir(), poll: 600}, &trace{}
	looked, told := make(chan struct{}, 100), make(chan struct{})
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, r := peek(r)
		if !strings.Contains(body, `"method":"tasks/`) && !strings.Contains(body, `"method":"tools/call"`) {
			tasks.ServeHTTP(w, r)
			return
		}
		if tasks.asked("tasks/cancel") == 1 && tasks.asked("tasks/get") == 3 {
			tr.add("  the worker acts")
			tasks.set("task-1", end)
		}
		if strings.Contains(body, `"method":"tasks/cancel"`) {
			<-told // the caller waits for no answer to this
		}
		tr.exchange(tasks, w, r, body)
		looked <- struct{}{}
	}))
	ended := make(chan struct{}, 1)
	c := newClient(t, &mcp.Options{Logger: slog.New(slog.NewTextHandler(signal{"has ended", ended}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	recorded := make(chan state.RemoteTask, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, over := begin(ctx, t, c, s, long(recorded), recorded)
	tr.add("  the task is recorded")
	<-looked
	<-looked
	<-time.After(200 * time.Millisecond) // the answer has been read, the next question is not due
	tr.add("  the caller cancels")
	cancel()
	_, err := wait(t, over)
	e := callError(t, err)
	tr.add("= %s, %s", e.Code, e.Execution)
	close(told)
	select {
	case <-ended:
	case <-time.After(within):
		t.Fatal("the task's end was not looked for")
	}
	tr.add("  ignored: %d", c.Strays(s.ID)[mcp.LateAnswer])
	return tr.text()
}

// What a cancel of a task looks like: the acknowledgement is no end, the end is
// looked for, and a result that comes is ignored. Compared byte by byte.
func TestACancelOfATaskLooksAsInItsTranscripts(t *testing.T) {
	for _, modern := range []bool{true, false} {
		era := map[bool]string{true: "modern", false: "legacy"}[modern]
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			got := &txtar.Archive{Comment: []byte("A cancel of a task over HTTP, " + era + ".\nC is the client, S the server; = is what the caller was told.\n")}
			for _, way := range []struct{ name, end string }{
				{"the worker observes the cancel", `{"status":"cancelled"}`},
				{"the worker is done before", done},
			} {
				got.Files = append(got.Files, txtar.File{Name: way.name, Data: []byte(traceCancel(t, modern, way.end))})
			}
			path := filepath.Join("testdata", "transcripts", "task-cancel-"+era+".txtar")
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Error("the wire looks otherwise; if it should, run with -update:", diff)
			}
		})
	}
}
