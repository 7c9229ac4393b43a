//go:build unix

package deploy_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"junction/router/consul/consultest"
	"junction/state/redis/redistest"
)

// local is a deployment without containers, in a directory of its own.
type local struct {
	t   *testing.T
	dir string
	env []string
}

// built is where the tests' own junction program is, and the error of its build.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "junction")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.buildVersion=7.8.9", "-o", path, "../cmd/junction") //nolint:noctx // it is for all tests, and no single one's to cancel
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

var scratch string // goes with the tests

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "deploy"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// program is junction, built as the image's build does it, or the one that the
// environment variable JUNCTION names.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("JUNCTION"); path != "" {
		return path
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		isStatic(t, path)
	}
	return path
}

func newLocal(t *testing.T, junction string, env ...string) *local {
	l := &local{t: t, dir: filepath.Join(t.TempDir(), "local")}
	l.env = append(os.Environ(), "JUNCTION="+junction, "JUNCTION_LOCAL_DIR="+l.dir, "JUNCTION_LOCAL_SCRAPE=1s", "JUNCTION_CONSUL="+consultest.Binary(t))
	l.env = append(l.env, env...)
	t.Cleanup(func() {
		if out, err := l.script(context.WithoutCancel(t.Context()), "down"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return l
}

// script runs up or down, for two minutes at most.
func (l *local) script(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join("local", name), args...)
	c.Env = l.env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	c.WaitDelay = time.Second
	begin := time.Now()
	err := c.Run()
	l.t.Logf("%s %v took %v", name, args, time.Since(begin).Round(time.Millisecond))
	return out.String(), err
}

// settings is what up writes for shells to read.
func (l *local) settings() map[string]string {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "env"))
	if err != nil {
		l.t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^export (\w+)="?([^"\n]*)"?$`).FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = m[2]
	}
	return all
}

// processes are the ids of what runs, by name.
func (l *local) processes() map[string]string {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, "run", "*.pid"))
	if err != nil {
		l.t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			l.t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".pid")], _, _ = strings.Cut(string(text), "\n")
	}
	return all
}

func listens(t *testing.T, address string) bool {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func last(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func hostPort(url string) string {
	_, address, _ := strings.Cut(url, "://")
	return address
}

func TestTheLocalDeploymentReviewsIsWatchedAndGoes(t *testing.T) {
	redistest.Long(t)
	junction := program(t)
	l := newLocal(t, junction)
	if out, err := l.script(t.Context(), "up", "--free-ports"); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	if n := len(l.processes()); n != 8 {
		t.Errorf("%d processes run, want 8: %v", n, l.processes())
	}
	if out, err := l.script(t.Context(), "up", "--free-ports"); err == nil || !strings.Contains(out, "runs already") {
		t.Errorf("up a second time: %v\n%s", err, out)
	}
	s := l.settings()
	work := &load{t: t, junction: junction, store: s["JUNCTION_STORE"], consul: s["CONSUL_HTTP_ADDR"]}
	// v2 looks deeper, which the workflow prefers; v1 is there for when it is slow.
	if got := work.review(); !strings.HasPrefix(last(got), "code-review at review-python-v") || !strings.HasSuffix(last(got), ": success") {
		t.Errorf("a review through it called %v", got)
	}
	// v2 hangs: the call moves on to v1 before its caller's time is gone (R15).
	v2 := l.processes()["review-python-v2"]
	if err := kill(v2, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if got := work.review(); last(got) != "code-review at review-python-v1: success" {
		t.Errorf("while v2 hangs a review called %v", got)
	}
	if err := kill(v2, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stop := work.start()
	eyes := prometheus{t: t, url: s["JUNCTION_PROMETHEUS_URL"]}
	watched(t, eyes)
	if firing := eyes.firing(); len(firing) != 0 {
		t.Errorf("one bad server of several fires %v", firing)
	}
	for port := 101; port <= 115; port++ {
		dead(t, s["CONSUL_HTTP_ADDR"], port)
	}
	alarmed(t, eyes, "HandshakesFail P1")
	stop()

	// One worker dies; the other does the work.
	if err := kill(l.processes()["worker-1"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := work.review(); !strings.HasSuffix(last(got), ": success") {
		t.Errorf("with one worker left a review called %v", got)
	}

	if out, err := l.script(t.Context(), "down"); err != nil {
		t.Errorf("down: %v\n%s", err, out)
	}
	if left := l.processes(); len(left) != 0 {
		t.Errorf("after down there are %v", left)
	}
	for _, address := range append(strings.Fields(s["JUNCTION_WORKERS"]+" "+s["JUNCTION_SERVERS"]),
		hostPort(s["JUNCTION_STORE"]), hostPort(s["CONSUL_HTTP_ADDR"]), hostPort(s["JUNCTION_PROMETHEUS_URL"])) {
		if listens(t, address) {
			t.Errorf("after down somebody listens at %s", address)
		}
	}
}

// isStatic: an image from scratch has no loader and no library.
func isStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program wants a loader, which an image from scratch does not have")
		}
	}
	out, err := exec.CommandContext(t.Context(), path, "version", "--json").Output()
	var v struct{ Version string }
	if err := json.Unmarshal(out, &v); err != nil || v.Version != "7.8.9" {
		t.Errorf("its version is %s, %v", out, err)
	}
	if err != nil {
		t.Error(err)
	}
}

func kill(pid string, with syscall.Signal) error {
	var id int
	if err := json.Unmarshal([]byte(pid), &id); err != nil {
		return err
	}
	return syscall.Kill(id, with)
}

func TestAStartThatFailsLeavesNothingRunning(t *testing.T) {
	redistest.Long(t)
	l := newLocal(t, program(t), "JUNCTION_PROMETHEUS=false")
	out, err := l.script(t.Context(), "up", "--free-ports")
	if err == nil || !strings.Contains(out, "prometheus did not start") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := l.processes(); len(left) != 0 {
		t.Errorf("what it had started runs on: %v", left)
	}
}

func TestUpAndDownLeaveOthersDirectoriesAlone(t *testing.T) {
	redistest.Long(t)
	l := newLocal(t, program(t))
	if err := os.MkdirAll(filepath.Join(l.dir, "redis"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := l.script(t.Context(), "up", "--free-ports"); err == nil || !strings.Contains(out, "in use for something else") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := l.script(t.Context(), "down", "--purge"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "redis")); err != nil {
		t.Error(err)
	}
}

func TestPurgeRemovesAllThatWasMade(t *testing.T) {
	redistest.Long(t)
	l := newLocal(t, program(t))
	if out, err := l.script(t.Context(), "up", "--free-ports"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := l.script(t.Context(), "down", "--purge"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(l.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", l.dir, err)
	}
}

// A process that got the id of one that has ended is somebody else's.
func TestDownEndsOnlyWhatUpStarted(t *testing.T) {
	t.Parallel()
	l := &local{t: t, dir: t.TempDir()}
	l.env = append(os.Environ(), "JUNCTION_LOCAL_DIR="+l.dir)
	other := exec.CommandContext(t.Context(), "sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Process.Kill(); err != nil {
			t.Errorf("it was ended: %v", err)
		}
		_ = other.Wait() // killed
	}()
	if err := os.Mkdir(filepath.Join(l.dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	id, err := json.Marshal(other.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stale := string(id) + "\nThu Jan 1 00:00:00 1970\n"
	if err := os.WriteFile(filepath.Join(l.dir, "run", "redis.pid"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := l.script(t.Context(), "down"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process of somebody else was ended: %v", err)
	}
	if len(l.processes()) != 0 {
		t.Error("the stale note is still there")
	}
}
