//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/worker"
	"junction/graph/workflow"
	"junction/state"
)

// liveServer is one of the example's servers in a process of its own, over HTTP.
type liveServer struct {
	name    string
	dir     string
	args    []string
	address string // host and port, the same after a restart
	cmd     *exec.Cmd
	alive   bool
	log     locked
}

// startLive starts a server that lives until the test's end. Its calls take base.
func startLive(t *testing.T, dir, name, reviewer string, base time.Duration, more ...string) *liveServer {
	t.Helper()
	s := &liveServer{name: name, dir: dir, address: "127.0.0.1:0"}
	s.args = append([]string{"example-server", "--reviewer", reviewer, "--name", name, "--slow", base.String(),
		"--ledger", filepath.Join(dir, "ledger.db"), "--trouble", s.troubleFile(), "--grace", "1s"}, more...)
	s.start(t)
	t.Cleanup(func() { s.kill(t) })
	return s
}

func (s *liveServer) troubleFile() string { return filepath.Join(s.dir, s.name+".trouble") }

var servingAt = regexp.MustCompile(`serving \S+ at http://(\S+)/mcp`)

// start runs the process where it ran before. Whoever holds its port meanwhile,
// such as a connection that goes out from it, is waited for.
func (s *liveServer) start(t *testing.T) {
	t.Helper()
	for range 50 {
		said := len(s.log.String())
		s.cmd = commandIn(context.WithoutCancel(t.Context()), t, s.dir, append(s.args, "--http", s.address)...)
		s.cmd.Stderr = &s.log
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.alive = true
		until(t, s.name+" serves, or finds its port taken", func() bool {
			text := s.log.String()[said:]
			return servingAt.MatchString(text) || strings.Contains(text, "in use")
		})
		if m := servingAt.FindStringSubmatch(s.log.String()[said:]); m != nil {
			s.address = m[1]
			return
		}
		s.kill(t)
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("%s finds its port taken:\n%s", s.name, s.log.String())
}

// kill ends it as a power cut would.
func (s *liveServer) kill(t *testing.T) {
	if !s.alive {
		return
	}
	s.alive = false
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()
}

func (s *liveServer) send(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := signalled(s.cmd.Process, signal); err != nil {
		t.Errorf("%s: %v", s.name, err)
	}
}

// ill makes its calls go wrong as the words say; none: they go right.
func (s *liveServer) ill(t *testing.T, words string) {
	t.Helper()
	part := s.troubleFile() + ".part"
	if err := os.WriteFile(part, []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, s.troubleFile()); err != nil {
		t.Fatal(err)
	}
}

// betweenWrites does something while nobody writes the ledger: a process that is
// stopped with the file locked holds up everybody who shares it, which is SQLite's
// trouble and no router's.
func betweenWrites(t *testing.T, ledger string, do func()) {
	t.Helper()
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(30000)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: ledger, RawQuery: query.Encode()}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, db)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	do()
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// newLiveFleet is a fleet with this servers file, in a directory that is there.
func newLiveFleet(t *testing.T, dir, redis, servers string, lease time.Duration) *fleet {
	t.Helper()
	f := &fleet{address: redis + "?prefix=" + uuid.NewString(), dir: dir, lease: lease, threads: 128}
	writeFiles(t, dir, map[string]string{"junction.yaml": servers})
	app, err := wire.Open(t.Context(), wire.Settings{Store: f.address, Config: filepath.Join(dir, "junction.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, app) })
	f.app = app
	return f
}

// feeder leaves threads of a workflow to the workers, one after another.
func (f *fleet) feeder(t *testing.T, text string) func(ctx context.Context, id string, input map[string]any) error {
	t.Helper()
	wf, err := workflow.Parse("w.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(wf.Spec(f.app.Router))
	if err != nil {
		t.Fatal(err)
	}
	queue, err := f.app.Queue()
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, id string, input map[string]any) error {
		return worker.Enqueue(ctx, queue, id, func(ctx context.Context) error {
			_, err := g.Create(ctx, graph.RunOptions{Store: f.app.Store, Thread: id, Input: input, Definition: wf.Text, Meta: map[string]string{"file": "w.yaml"}})
			return err
		})
	}
}

// stand is how many threads have which status, and one that failed.
func (f *fleet) stand(ctx context.Context) (map[state.Status]int, *state.Thread, error) {
	threads, err := f.app.Store.Threads(ctx, state.ThreadFilter{})
	if err != nil {
		return nil, nil, err
	}
	count := map[state.Status]int{}
	var failed *state.Thread
	for i := range threads {
		count[threads[i].Status]++
		if threads[i].Failure != nil {
			failed = &threads[i]
		}
	}
	return count, failed, nil
}

// assertLedgerOnce checks that n keys took effect at the servers, each once.
func assertLedgerOnce(t *testing.T, path string, n int) {
	t.Helper()
	executions := ledgerExecutions(t, path)
	if len(executions) != n {
		t.Errorf("%d keys took effect, want %d", len(executions), n)
	}
	for key, times := range executions {
		if times != 1 {
			t.Errorf("key %s took effect %d times", key, times)
		}
	}
}

// liveServers names the servers of a servers file that offer a capability.
func liveServers(servers []*liveServer) string {
	text := "mcpServers:\n"
	for _, s := range servers {
		offer := "{capability: code-review, tool: review, effect: safe}"
		if strings.HasPrefix(s.name, "press") {
			offer = "{capability: publish, tool: publish, effect: conditional, key: idempotencyKey, ledger: {name: published, keeps: 720h}}"
		}
		text += fmt.Sprintf("  %s:\n    url: http://%s/mcp\n    max_concurrent: 64\n    offers: [%s]\n", s.name, s.address, offer)
	}
	return text
}
