package bridge_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	parts  []part // of its transcript
	began  time.Time
}

func (i *inspector) phase(title string) {
	i.parts, i.began = append(i.parts, part{title: title}), time.Now()
}

// saying is one command of the Inspector, and how it ended.
type saying struct {
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
	v := saying{command: strings.Join(args, " ")}
	i.parts[len(i.parts)-1].add("inspector", time.Since(i.began).Milliseconds(), v.command, "")
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	done := make(chan struct{})
	var err error
	go func() { defer close(done); err = cmd.Wait(); cancel() }()
	i.t.Cleanup(func() { <-done })
	return func() saying {
		<-done
		v.ok, v.text = err == nil, strings.TrimSpace(stdout.String())
		end := ": answered"
		if !v.ok {
			v.text, end = strings.TrimSpace(stderr.String()), ": failed"
		}
		what := v.command + end
		if strings.HasSuffix(v.command, "=s2") { // answered or not: that depends on how long it lasted
			what = "(" + what + ")"
		}
		detail := v.text
		if names := toolNames.FindAllStringSubmatch(v.text, -1); strings.HasPrefix(v.text, `{"result":{"tools":`) {
			detail = fmt.Sprintf("%d tools", len(names))
		}
		i.parts[len(i.parts)-1].add("inspector", time.Since(i.began).Milliseconds(), what, detail)
		return v
	}
}

// check wants a command to be answered with that in it.
func (i *inspector) check(want string, v saying) {
	i.t.Helper()
	if !v.ok || !strings.Contains(v.text, want) {
		i.t.Errorf("%s: want %q in it:\n%s", v.command, want, v.text)
	}
}

var toolNames = regexp.MustCompile(`"name":"(\w+)"`)

func called(tool, id string) []string {
	return []string{"--method", "tools/call", "--tool-name", tool, "--tool-arg", "id=" + id}
}

// all makes each kind of request at once, in a session each.
func (i *inspector) all(mark string) {
	i.t.Helper()
	list := i.begin("--method", "tools/list")
	count := i.begin(called("count", "s"+mark)...)
	charge := i.begin(called("charge", "c"+mark)...)
	i.check(`"charge"`, list())
	i.check("count s"+mark, count())
	i.check("charge c"+mark, charge())
}

// load is the Inspector's report of a session in which it called a tool all the time.
type load struct {
	Requests, OK, ToolErrors, Errors int
	ErrorMessages                    []struct{ Message string }
}

// evil is what happens to a server, and for how long.
type evil struct {
	begin func(s *shop) (end func(*shop))
	lasts time.Duration
	tool  string // that is called meanwhile; "": count
}

func (e evil) amid() string { return cmp.Or(e.tool, "count") }

func nothing(*shop) {}

var bad = map[string]evil{
	"kill":   {begin: func(s *shop) func(*shop) { s.down(); return (*shop).up }, lasts: 500 * time.Millisecond},
	"forget": {begin: func(s *shop) func(*shop) { s.down(); s.up(); return nothing }},
	"outage": {begin: func(s *shop) func(*shop) { s.down(); return (*shop).up }, lasts: either(time.Minute, 3*time.Second)},
	"hang": {begin: func(s *shop) func(*shop) {
		s.put("hang")
		return func(s *shop) { s.remove("hang") }
	}, lasts: either(time.Minute, 6*time.Second)},
	"flood": {begin: func(*shop) func(*shop) { return nothing }, tool: "flood"},
}

const aboutInspector = `The MCP Inspector's command line, each time with a junction proxy of its own, and a server over %s.
The session with --load is one, and lasts through all that happens. Times are seconds since the part began.`

func TestTheInspectorWorksThroughWhateverBecomesOfTheServer(t *testing.T) {
	installed(t)
	t.Parallel()
	for _, torment := range torments {
		if torment.name != "kill" && torment.name != "outage" && !long {
			continue // each takes a dozen processes of Node
		}
		t.Run(torment.name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for n, w := range ways[:either(2, 1)] {
				all.Go(func() {
					t.Run("over "+w.way.name, func(t *testing.T) {
						s := openShop(t, w.way)
						i := newInspector(t, s, torment.flags)
						i.endure(s, torment.name)
						if n == 0 && !t.Failed() {
							kept(t, torment.name+"-inspector", &transcript{about: fmt.Sprintf(aboutInspector, w.way.name), parts: i.parts})
						}
					})
				})
			}
			all.Wait()
		})
	}
}

// endure is a bad day of the Inspector: one session that calls all the time, and
// short ones before, amid and after.
func (i *inspector) endure(s *shop, torment string) {
	i.phase("Before")
	i.all("1")
	i.phase("Meanwhile")
	lasts := strconv.Itoa(int(bad[torment].lasts.Seconds())*3/2 + 7)
	steady := i.begin(append(called("charge", "load"), "--load", "--load-rate", "20", "--load-concurrency", "4", "--load-duration", lasts)...)
	s.has("charge", "load")
	back := bad[torment].begin(s)
	amid := i.begin(called(bad[torment].amid(), "s2")...)
	<-time.After(bad[torment].lasts)
	back(s)
	before := s.times("charge", "load")
	s.eventually("the long session goes on", func() bool { return s.times("charge", "load") > before })
	if v := amid(); v.ok || !strings.Contains(v.text, "server till has been away") { // else it waited as long as it may
		i.check(" s2", v)
	}
	i.judge(s, torment, steady())
	i.phase("After")
	i.all("3")
	for _, id := range []string{"c1", "c3"} {
		if n := s.times("charge", id); n != 1 {
			i.t.Errorf("%s was charged %d times", id, n)
		}
	}
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
}
