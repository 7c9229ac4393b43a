package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
)

// The files in which a server on its standard streams records them, and whose
// appearance ends its pause.
const (
	reelVar   = "MCP_TEST_REEL"
	resumeVar = "MCP_TEST_RESUME"
	muteVar   = "MCP_TEST_MUTE" // a method that is not answered
)

// reel is a server of one era, written by hand, that records what goes over the
// wire in the order in which it happened to it. Its tool answers at once, unless
// it is asked to "hold": then it reports progress and answers only after it was
// told of the cancel, or its stream was closed, as a server does that ignores both.
type reel struct {
	modern bool
	record func(text string)

	mu     sync.Mutex
	held   json.RawMessage // id of the call that is not answered yet
	token  json.RawMessage
	closed chan struct{} // closed once the stream of the held call is
	runs   int
}

// note is a message as far as a reel understands it.
type note struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			Hold  bool `json:"hold"`
			Twice bool `json:"twice"`
		} `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// opening answers what comes before calls; false: it is nothing of that kind.
func (r *reel) opening(n *note) (string, bool) {
	var result string
	switch n.Method {
	case "server/discover":
		if !r.modern {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, n.ID), true
		}
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","serverInfo":{"name":"reel","version":"1"},"capabilities":{"tools":{}}}`
	case "tools/list":
		result = `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`
	default:
		return "", false
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, n.ID, result), true
}

func (r *reel) done(id json.RawMessage) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, fine)
}

func (r *reel) reports(token json.RawMessage, at int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, at)
}

// lines serves over standard streams.
func (r *reel) lines(in io.Reader, out io.Writer) int {
	say := func(text string) {
		r.record("S " + text)
		fmt.Fprintln(out, text)
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			r.record("C closes the server's input")
			return 0
		}
		r.record("C " + strings.TrimSpace(string(line)))
		var n note
		json.Unmarshal(line, &n)
		if n.Method != "" && n.Method == os.Getenv(muteVar) {
			continue
		}
		if text, ok := r.opening(&n); ok {
			say(text)
			continue
		}
		switch n.Method {
		case "tools/call":
			r.runs++
			if n.Params.Arguments.Hold {
				r.held, r.token = n.ID, n.Params.Meta.Token
				say(r.reports(r.token, 1))
				continue
			}
			say(r.done(n.ID))
			if n.Params.Arguments.Twice {
				say(r.done(n.ID))
			}
		case "notifications/cancelled":
			say(r.reports(r.token, 2))
			say(r.done(r.held))
		}
	}
}

// ServeHTTP serves over Streamable HTTP.
func (r *reel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var n note
	json.Unmarshal(body, &n)
	stream := n.Method == "tools/call"
	if n.Method == "notifications/cancelled" {
		<-r.closed // the stream is closed first, and may be seen to be later
	}
	r.record(strings.TrimRight(fmt.Sprintf("C %s %s%s", req.Method, told(req.Header), body), " ·"))
	if text, ok := r.opening(&n); ok {
		if n.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "session-1")
		}
		w.Header().Set("Content-Type", "application/json")
		r.record("S 200 " + text)
		io.WriteString(w, text)
		return
	}
	if !stream {
		w.WriteHeader(http.StatusAccepted)
		r.record("S 202")
		return
	}
	r.mu.Lock()
	r.runs++
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(text string) {
		r.record("S event " + text)
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
	if !n.Params.Arguments.Hold {
		say(r.done(n.ID))
		return
	}
	say(r.reports(n.Params.Meta.Token, 1))
	<-req.Context().Done()
	r.record("C closes the stream")
	say(r.done(n.ID)) // into the void
	close(r.closed)
}

// told shows the headers of MCP, in order.
func told(h http.Header) string {
	var b strings.Builder
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-Id", "X-Mcp-Timeout-Seconds"} {
		if v := h.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s · ", name, v)
		}
	}
	return b.String()
}

// pausing reads, and from "tools/call" on nothing more until the file resume is
// there. A file beside that says that it pauses.
type pausing struct {
	in     io.Reader
	resume string
	calls  int
}

func (p *pausing) Read(b []byte) (int, error) {
	for p.calls > 0 {
		if _, err := os.Stat(p.resume); err == nil {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	n, err := p.in.Read(b)
	if p.calls += bytes.Count(b[:n], []byte(`"tools/call"`)); p.calls > 0 {
		os.WriteFile(p.resume+".paused", nil, 0o600)
	}
	return n, err
}

// playReel is what a child does in the role "reel modern" or "reel legacy"; where
// a file beside the record is named, it pauses until that is there.
func playReel(modern bool) int {
	f, err := os.OpenFile(os.Getenv(reelVar), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer f.Close()
	r := &reel{modern: modern, record: func(text string) { fmt.Fprintln(f, text) }}
	if resume := os.Getenv(resumeVar); resume != "" {
		return r.lines(&pausing{in: os.Stdin, resume: resume}, os.Stdout)
	}
	return r.lines(os.Stdin, os.Stdout)
}

// wire is a transport in one era, with a reel at its other end.
type wire struct {
	name   string
	stdio  bool
	modern bool
}

var wires = []wire{{"stdio-modern", true, true}, {"stdio-legacy", true, false}, {"http-modern", false, true}, {"http-legacy", false, false}}

// roll returns the server, and what was recorded so far, line by line.
func (w wire) roll(t *testing.T) (*router.Server, func() []string) {
	t.Helper()
	if w.stdio {
		role := "reel legacy"
		if w.modern {
			role = "reel modern"
		}
		s := stdioServer(t, role)
		path := t.TempDir() + "/reel"
		s.Dial.Env[reelVar] = path
		return s, func() []string {
			data, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
			return strings.Split(strings.TrimSpace(string(data)), "\n")
		}
	}
	var mu sync.Mutex
	var lines []string
	r := &reel{modern: w.modern, closed: make(chan struct{}), record: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, text)
	}}
	s, _ := raw(t, r)
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), lines...)
	}
}

func held(cancel func()) router.ToolCall {
	c := call("work", map[string]any{"hold": true})
	c.Progress = func(float64, float64, string) { cancel() }
	return c
}

// containing returns the lines with text in them.
func containing(lines []string, text string) []string {
	var found []string
	for _, line := range lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
