package bridge_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds every single wait of a test.
var patience = either(2*time.Minute, time.Minute)

// way is how a bridge reaches the till.
type way struct {
	name    string
	overWeb bool
	modern  bool
}

// shop is a till and what is said of it to a bridge.
type shop struct {
	t   *testing.T
	way way
	dir string // the till's

	address string
	process *exec.Cmd     // the latest of one over HTTP
	exited  chan struct{} // closed when that has ended
	stderr  bytes.Buffer  // of that
	config  string        // the servers file
}

// openShop sets a till up, and starts it where the bridge does not.
func openShop(t *testing.T, w way) *shop {
	t.Helper()
	s := &shop{t: t, way: w, dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := map[string]any{"offers": []any{map[string]any{"capability": "count", "tool": "count", "effect": "safe"}}}
	if w.overWeb {
		s.up()
		t.Cleanup(s.down)
		entry["url"] = "http://" + s.address + "/mcp"
	} else {
		entry["command"] = self
		env := map[string]any{tillDir: s.dir}
		if w.modern {
			env[tillModern] = "1"
		}
		entry["env"] = env
	}
	text, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"till": entry}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	s.config = filepath.Join(t.TempDir(), "junction.yaml") // JSON is YAML
	if err := os.WriteFile(s.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// up starts the till: another process at the same address. The bridge starts a child by
// itself.
func (s *shop) up() {
	s.t.Helper()
	if !s.way.overWeb {
		s.remove("away")
		return
	}
	limit := time.Now().Add(patience)
	for first := s.address == ""; ; {
		if first {
			s.address = freeAddress(s.t)
		}
		s.start()
		s.eventually("the till listens or ends", func() bool { return s.listens() || ended(s.exited) })
		if s.listens() {
			return
		}
		if time.Now().After(limit) {
			s.t.Fatalf("the till does not listen: %s", s.stderr.String())
		}
	}
}

// start starts the process at the address, which may be taken meanwhile: it ends then.
func (s *shop) start() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	process := exec.Command(self) //nolint:noctx // down ends it
	process.Env = append(os.Environ(), tillDir+"="+s.dir, tillAddress+"="+s.address)
	if s.way.modern {
		process.Env = append(process.Env, tillModern+"=1")
	}
	s.stderr.Reset()
	process.Stderr = &s.stderr
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = process.Wait() }() // killed: its status says nothing
	s.process, s.exited = process, exited
}

// listens says whether the process that was started last does.
func (s *shop) listens() bool { return s.pid() == s.process.Process.Pid }

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// down kills the till (kill -9), and keeps it down.
func (s *shop) down() {
	s.t.Helper()
	if s.way.overWeb {
		if err := s.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			s.t.Errorf("killing the till: %v", err)
		}
		<-s.exited
		return
	}
	s.put("away")
	s.kill(s.pid())
}

// kill ends the bridge's child, as kill -9 does.
func (s *shop) kill(pid int) {
	s.t.Helper()
	child, err := os.FindProcess(pid)
	if err == nil {
		err = child.Kill()
	}
	if err != nil {
		s.t.Fatalf("killing the till: %v", err)
	}
}

// pid is that of the process that the till is now.
func (s *shop) pid() int {
	pid := 0
	for _, v := range s.seen() {
		if v.What == "started" {
			pid = v.PID
		}
	}
	return pid
}

func (s *shop) put(file string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, file), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) remove(file string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
}

// seen is what all of the till's processes saw, in order. A line that is being written
// is not read yet.
func (s *shop) seen() []sighting {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "seen.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	var all []sighting
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var v sighting
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			break
		}
		all = append(all, v)
	}
	return all
}

// times says how often the till did that for the request.
func (s *shop) times(what, id string) int {
	n := 0
	for _, v := range s.seen() {
		if v.What == what && v.ID == id {
			n++
		}
	}
	return n
}

// has waits until the till has begun to do that.
func (s *shop) has(what, id string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the till has seen %s %s", what, id), func() bool { return s.times(what, id) > 0 })
}

func (s *shop) eventually(what string, is func() bool) {
	s.t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			s.t.Fatalf("it never came that %s", what)
		}
	}
}
