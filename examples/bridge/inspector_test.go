package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inspector is the command line of the MCP Inspector, told of a bridge as any client is.
type inspector struct {
	t      *testing.T
	node   string
	config string // {"mcpServers": …}
	home   string
	modern bool
	said   []saying
}

// saying is one command of the Inspector, and how it ended.
type saying struct {
	at      time.Time
	took    time.Duration
	command string
	ok      bool
	text    string // JSON
}

const inspectorProgram = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

func newInspector(t *testing.T, s *shop, flags []string) *inspector {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"till": map[string]any{
		"command": program(t), "args": append([]string{"proxy", "--quiet", "--config", s.config, "--server", "till"}, flags...),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	i := &inspector{t: t, node: node(t), config: filepath.Join(dir, "mcp.json"), home: dir, modern: s.way.modern}
	if err := os.WriteFile(i.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// begin starts a command; the result waits for its end.
func (i *inspector) begin(args ...string) func() saying {
	i.t.Helper()
	era := "legacy"
	if i.modern {
		era = "modern"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	cmd := exec.CommandContext(ctx, i.node, append([]string{
		inspectorProgram, "--cli", "--config", i.config, "--server", "till", "--protocol-era", era, "--connect-timeout", "0", "--format", "json", "--quiet",
	}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+i.home, "MCP_INSPECTOR_SECRET_STORE=memory")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	v := saying{at: time.Now(), command: strings.Join(args, " ")}
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	done := make(chan struct{})
	var err error
	go func() { defer close(done); err = cmd.Wait(); cancel() }()
	i.t.Cleanup(func() { <-done })
	return func() saying {
		<-done
		v.took, v.ok, v.text = time.Since(v.at), err == nil, strings.TrimSpace(stdout.String())
		if !v.ok {
			v.text = strings.TrimSpace(stderr.String())
		}
		i.said = append(i.said, v)
		return v
	}
}

// answered makes one command, which is to be answered with that in it.
func (i *inspector) answered(want string, args ...string) {
	i.t.Helper()
	i.check(want, i.begin(args...)())
}

func (i *inspector) check(want string, v saying) {
	i.t.Helper()
	if !v.ok || !strings.Contains(v.text, want) {
		i.t.Errorf("%s: want %q in it:\n%s", v.command, want, v.text)
	}
}

func called(tool, id string) []string {
	return []string{"--method", "tools/call", "--tool-name", tool, "--tool-arg", "id=" + id}
}

// all makes each kind of request, in a session each.
func (i *inspector) all(mark string) {
	i.t.Helper()
	i.answered(`"charge"`, "--method", "tools/list")
	i.answered("count s"+mark, called("count", "s"+mark)...)
	i.answered("charge c"+mark, called("charge", "c"+mark)...)
}

// load is the Inspector's report of a session in which it called a tool all the time.
type load struct {
	Requests, OK, ToolErrors, Errors int
	ErrorMessages                    []struct{ Message string }
}

// bad is what happens to the server; what is returned ends it.
var bad = map[string]func(s *shop) (end func()){
	"kill": func(s *shop) func() { s.down(); return s.up },
	"forget": func(s *shop) func() {
		s.down()
		s.up()
		return func() {}
	},
	"outage": func(s *shop) func() {
		s.down()
		<-time.After(either(time.Minute, 3*time.Second))
		return s.up
	},
	"hang": func(s *shop) func() {
		s.put("hang")
		<-time.After(either(time.Minute, 6*time.Second))
		return func() { s.remove("hang") }
	},
	"flood": func(*shop) func() { return func() {} }, // by a call
}

func TestTheInspectorWorksThroughWhateverBecomesOfTheServer(t *testing.T) {
	installed(t)
	t.Parallel()
	for _, torment := range torments {
		t.Run(torment.name, func(t *testing.T) {
			t.Parallel()
			for n, w := range ways[:2] {
				if n > 0 && !long {
					break
				}
				t.Run("over "+w.way.name, func(t *testing.T) {
					t.Parallel()
					s := openShop(t, w.way)
					i := newInspector(t, s, torment.flags)
					i.endure(s, torment.name)
				})
			}
		})
	}
}

// endure is a bad day of the Inspector: one session that calls all the time, and
// short ones before, amid and after.
func (i *inspector) endure(s *shop, torment string) {
	i.all("1")
	steady := i.begin(append(called("charge", "load"), "--load", "--load-rate", "20", "--load-concurrency", "4", "--load-duration", either("100", "15"))...)
	s.has("charge", "load")
	ended := make(chan func(), 1)
	go func() { ended <- bad[torment](s) }()
	amid := i.begin(called(map[bool]string{true: "flood", false: "count"}[torment == "flood"], "s2")...)
	(<-ended)()
	before := s.times("charge", "load")
	s.eventually("the long session goes on", func() bool { return s.times("charge", "load") > before })
	i.check(" s2", amid())
	i.all("3")
	i.judge(s, torment, steady())
}

// judge holds the report of the long session against what the till did.
func (i *inspector) judge(s *shop, torment string, v saying) {
	i.t.Helper()
	var report struct{ Result load }
	if err := json.Unmarshal([]byte(v.text), &report); err != nil {
		i.t.Fatalf("the report of the long session: %v\n%s", err, v.text)
	}
	l, charged := report.Result, s.times("charge", "load")
	if l.Requests == 0 || l.OK == 0 || l.ToolErrors != 0 || l.OK+l.Errors != l.Requests {
		i.t.Errorf("the long session: %s", v.text)
	}
	if charged < l.OK || charged > l.Requests {
		i.t.Errorf("%d calls were answered and %d failed, and %d were charged", l.OK, l.Errors, charged)
	}
	if torment == "flood" && l.Errors > 0 {
		i.t.Errorf("calls failed beside a flood: %s", v.text)
	}
	for _, e := range l.ErrorMessages {
		if !strings.Contains(e.Message, "till") {
			i.t.Errorf("an error does not name the server: %s", e.Message)
		}
	}
	for _, id := range []string{"c1", "c3"} {
		if n := s.times("charge", id); n != 1 {
			i.t.Errorf("%s was charged %d times", id, n)
		}
	}
}
