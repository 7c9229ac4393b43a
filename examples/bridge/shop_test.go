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
	"strings"
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
	process *exec.Cmd // of one over HTTP; nil: it is down
	stderr  bytes.Buffer
	config  string // the servers file
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
		s.address = freeAddress(t)
		entry["url"] = "http://" + s.address + "/mcp"
		s.up()
		t.Cleanup(s.down)
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
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.process = exec.Command(self) //nolint:noctx // down ends it
	s.process.Env = append(os.Environ(), tillDir+"="+s.dir, tillAddress+"="+s.address)
	if s.way.modern {
		s.process.Env = append(s.process.Env, tillModern+"=1")
	}
	s.process.Stderr = &s.stderr
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the till listens", func() bool {
		conn, err := net.Dial("tcp", s.address) //nolint:noctx // to itself
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
}

// down kills the till (kill -9), and keeps it down.
func (s *shop) down() {
	s.t.Helper()
	if s.way.overWeb {
		if s.process != nil {
			if err := s.process.Process.Kill(); err != nil {
				s.t.Errorf("killing the till: %v", err)
			}
			_ = s.process.Wait() // killed: its status says nothing
			s.process = nil
		}
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
			s.t.Fatalf("it never came that %s; its stderr: %s", what, strings.TrimSpace(s.stderr.String()))
		}
	}
}
