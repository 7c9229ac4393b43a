package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// The test binary is a till, the server that is tormented, when tillDir names the
// directory in which it keeps what outlives it, and out of which it is tormented:
//
//	seen.jsonl  what it was asked, and by which process: a [sighting] a line
//	hang        while it is there, the server reads and answers nothing
//	away        while it is there, a child ends as soon as it is started
//	let         until it is there, calls with "hold" have no answer
const (
	tillDir     = "BRIDGE_TILL_DIR"
	tillAddress = "BRIDGE_TILL_ADDRESS" // of one over HTTP; unset: over standard streams
	tillModern  = "BRIDGE_TILL_MODERN"  // set: of the later era, without sessions
)

// flooding is how many notifications the tool flood sends beside its answer.
const flooding = 10_000

// look is how often the files are looked at.
const look = 5 * time.Millisecond

// sighting is one thing that a till saw or did.
type sighting struct {
	At   int64  `json:"at"` // ms since 1970
	PID  int    `json:"pid"`
	What string `json:"what"` // started, a method, a tool's name; "count went on": held no longer
	ID   string `json:"id,omitempty"`
}

type till struct {
	dir    string
	modern bool

	mu  sync.Mutex // of standard output
	out io.Writer
}

func serveTill(dir string) error {
	t := &till{dir: dir, modern: os.Getenv(tillModern) != "", out: os.Stdout}
	address := os.Getenv(tillAddress)
	if t.there("away") {
		return errors.New("the till is closed")
	}
	if address != "" {
		l, err := net.Listen("tcp", address) //nolint:noctx // it does not wait
		if err == nil {
			err = t.saw("started", "")
		}
		if err != nil {
			return err
		}
		return (&http.Server{Handler: t.overHTTP(), ReadHeaderTimeout: time.Minute}).Serve(l)
	}
	if err := t.saw("started", ""); err != nil {
		return err
	}
	err := mcpserver.NewStdioServer(t.server()).Listen(context.Background(), t.lines(os.Stdin), t)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// saw keeps a sighting for the test, whatever becomes of this process.
func (t *till) saw(what, id string) error {
	f, err := os.OpenFile(filepath.Join(t.dir, "seen.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	line, err := json.Marshal(sighting{time.Now().UnixMilli(), os.Getpid(), what, id})
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	return errors.Join(err, f.Close())
}

func (t *till) there(file string) bool {
	_, err := os.Stat(filepath.Join(t.dir, file))
	return err == nil
}

// until waits for a file to come or to go.
func (t *till) until(ctx context.Context, file string, there bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for t.there(file) != there {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stuck holds everything up while the server hangs.
func (t *till) stuck() { _ = t.until(context.Background(), "hang", false) }

// server has what can be bought: count changes nothing, charge does.
func (t *till) server() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("till", "1.0", mcpserver.WithToolCapabilities(true), mcpserver.WithLogging())
	tool := func(name string, readOnly bool, do mcpserver.ToolHandlerFunc) {
		s.AddTool(protocol.NewTool(name, protocol.WithReadOnlyHintAnnotation(readOnly),
			protocol.WithString("id", protocol.Required()), protocol.WithBoolean("hold")), do)
	}
	work := func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		name, id := r.Params.Name, r.GetString("id", "")
		if err := t.saw(name, id); err != nil {
			return nil, err
		}
		if r.GetBool("hold", false) {
			if err := t.until(ctx, "let", true); err != nil {
				return nil, err
			}
			if err := t.saw(name+" went on", id); err != nil {
				return nil, err
			}
		}
		t.stuck()
		return protocol.NewToolResultText(name + " " + id), nil
	}
	tool("count", true, work)
	tool("charge", false, work)
	tool("flood", true, func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		for i := range flooding {
			err := mcpserver.ErrNotificationChannelBlocked
			for errors.Is(err, mcpserver.ErrNotificationChannelBlocked) && ctx.Err() == nil {
				err = s.SendNotificationToClient(ctx, "notifications/message", map[string]any{"level": "info", "data": fmt.Sprintf("drop %d of a flood", i)})
			}
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
		}
		return work(ctx, r)
	})
	return s
}

// lines are the standard input, until the server hangs. One of the earlier era knows
// no server/discover.
func (t *till) lines(in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				w.CloseWithError(err)
				return
			}
			t.stuck()
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(line, &m) // the server says what is wrong with it
			if err := t.handshake(m.Method); err != nil {
				w.CloseWithError(err)
				return
			}
			if m.Method == "server/discover" && !t.modern {
				fmt.Fprintf(t, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
				continue
			}
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}()
	return r
}

// Write is to standard output.
func (t *till) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(line)
}

// handshake notes a handshake. In the later era it is what heartbeats are as well.
func (t *till) handshake(method string) error {
	if method != "initialize" {
		return nil
	}
	return t.saw(method, "")
}

func (t *till) overHTTP() http.Handler {
	h := mcpserver.NewStreamableHTTPServer(t.server(), mcpserver.WithStateLess(t.modern))
	if !t.modern {
		h = mcpserver.NewStreamableHTTPServer(t.server(), mcpserver.WithSessionIdManager(&sessions{}))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return // who asked is gone
		}
		t.stuck()
		var m struct{ Method string }
		_ = json.Unmarshal(body, &m) // the server says what is wrong with it
		if !t.modern && r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" {
			http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Unsupported protocol version"}}`, http.StatusBadRequest)
			return
		}
		if err := t.handshake(m.Method); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// sessions answers 404 to a session that it does not know, as the protocol wants it.
type sessions struct {
	mcpserver.InsecureStatefulSessionIdManager
}

func (s *sessions) Validate(id string) (ended bool, err error) {
	ended, err = s.InsecureStatefulSessionIdManager.Validate(id)
	return ended || err != nil, nil
}
