package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// event is what the SDK's client tells of (client.mjs).
type event struct {
	At       int64  // ms since 1970
	What     string // asked, answered, error, told, closed, fault, connected, ended
	ID       string // of a request
	Tool     string
	Text     string
	Code     int
	Data     json.RawMessage
	PID      int // of the bridge
	Notified int // notifications that came
}

// session is one of an SDK's client with a bridge.
type session struct {
	t  *testing.T
	in io.WriteCloser

	mu     sync.Mutex
	all    []event
	more   chan struct{} // closed at the next event
	closed bool          // the client's process has ended
}

// begin has the SDK of that version start a bridge, and connects to it.
func begin(t *testing.T, sdk int, command string, args ...string) *session {
	t.Helper()
	plan, err := json.Marshal(map[string]any{"sdk": sdk, "command": command, "args": args, "cwd": t.TempDir(), "log": sdk == 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	cmd := exec.CommandContext(ctx, node(t), "client.mjs", string(plan))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, in: in, more: make(chan struct{})}
	read := make(chan struct{})
	go func() { defer close(read); s.read(out) }()
	t.Cleanup(func() {
		in.Close()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v\n%s", err, stderr.String())
		}
		cancel()
	})
	s.await("the connection", func(e event) bool { return e.What == "connected" })
	return s
}

func (s *session) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		err := json.Unmarshal(lines.Bytes(), &e)
		s.mu.Lock()
		if err != nil {
			s.t.Errorf("the client said %q", lines.Text())
		} else {
			s.all = append(s.all, e)
		}
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.more)
}

func (s *session) events() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// await returns the first event of that kind, which may have come already.
func (s *session) await(what string, is func(event) bool) event {
	s.t.Helper()
	return s.awaitFrom(0, what, is)
}

// awaitFrom is await for those that come after so many.
func (s *session) awaitFrom(from int, what string, is func(event) bool) event {
	s.t.Helper()
	limit := time.After(patience)
	for {
		s.mu.Lock()
		all, more, closed := s.all, s.more, s.closed
		s.mu.Unlock()
		if i := slices.IndexFunc(all[from:], is); i >= 0 {
			return all[from+i]
		}
		from = len(all)
		if closed {
			s.t.Fatalf("%s did not come before the client ended", what)
		}
		select {
		case <-more:
		case <-limit:
			s.t.Fatalf("%s did not come", what)
		}
	}
}

type order struct {
	Do    string `json:"do"`
	ID    string `json:"id,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Hold  bool   `json:"hold,omitempty"`
	Every int    `json:"every,omitempty"` // ms
}

func (s *session) do(o order) {
	s.t.Helper()
	line, err := json.Marshal(o)
	if err == nil {
		_, err = s.in.Write(append(line, '\n'))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// ask has a request made, and waits until it was; end waits for its end.
func (s *session) ask(tool, id string) {
	s.t.Helper()
	s.request(order{Do: "call", Tool: tool, ID: id})
}

// hold is ask for a call that the till does not answer before it is let.
func (s *session) hold(tool, id string) {
	s.t.Helper()
	s.request(order{Do: "call", Tool: tool, ID: id, Hold: true})
}

func (s *session) list(id string) {
	s.t.Helper()
	s.request(order{Do: "list", ID: id})
}

func (s *session) request(o order) {
	s.t.Helper()
	s.do(o)
	s.await("request "+o.ID, func(e event) bool { return e.What == "asked" && e.ID == o.ID })
}

func (s *session) end(id string) event {
	s.t.Helper()
	return s.await("the end of "+id, func(e event) bool { return e.ID == id && e.over() })
}

func (e event) over() bool { return e.What == "answered" || e.What == "error" }

// answered waits for the end of requests, which is to be an answer.
func (s *session) answered(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		if e := s.end(id); e.What != "answered" {
			s.t.Errorf("%s: error %d: %s", id, e.Code, e.Text)
		}
	}
}

// finish lets all requests come to their end and closes the client.
func (s *session) finish() (ended event) {
	s.t.Helper()
	s.do(order{Do: "end"})
	return s.await("the end", func(e event) bool { return e.What == "ended" })
}
