package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"junction/cmd/junction/internal/wire"
	"junction/state"
)

// crashRun is one thread in a directory of its own.
type crashRun struct {
	binary, dir, crashAt string
	store                string // its address
	workers              bool   // run and resume leave it to a worker
}

const crashThread = "crash-thread"

func newCrashRun(t *testing.T, binary, store string, workers bool) *crashRun {
	t.Helper()
	r := &crashRun{binary: binary, dir: t.TempDir(), store: store, workers: workers}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("crash.yaml", crashWorkflow)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	write("junction.yaml", fmt.Sprintf(crashServers, self, r.path("counts"), binary, r.path("ledger.db")))
	return r
}

func (r *crashRun) path(name string) string { return filepath.Join(r.dir, name) }

// command runs the binary and returns its exit code, or -1 when it was killed.
func (r *crashRun) command(t *testing.T, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, out := r.prepare(ctx, args...)
	return ended(t, args, cmd.Run(), out)
}

// prepare is a command of the binary, its crash point set.
func (r *crashRun) prepare(ctx context.Context, args ...string) (*exec.Cmd, *locked) {
	cmd := exec.CommandContext(ctx, r.binary, append(args, "--store", r.store, "--lease", "2s")...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "JUNCTION_CRASH="+r.crashAt, "JUNCTION_CRASH_TRACE="+r.path("trace"))
	out := new(locked)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// ended is the exit code of a command, or -1 when it was killed.
func ended(t *testing.T, args []string, err error, out *locked) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			if status.Signal() != syscall.SIGKILL {
				t.Fatalf("%v ended by %v:\n%s", args, status.Signal(), out.String())
			}
			return -1
		}
		if c := exit.ExitCode(); c != exitWaiting && c != exitFailed {
			t.Fatalf("%v: exit %d:\n%s", args, c, out.String())
		}
		if exit.ExitCode() == exitFailed && !strings.Contains(out.String(), "no thread") && !strings.Contains(out.String(), "no store") {
			t.Fatalf("%v failed:\n%s", args, out.String())
		}
		return exit.ExitCode()
	}
	t.Fatalf("%v: %v", args, err)
	return 0
}

// serve has a worker run the thread until it stops, and returns 0, or -1 when
// the worker was killed.
func (r *crashRun) serve(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, out := r.prepare(ctx, "serve", "--config", r.path("junction.yaml"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	store := r.open(t)
	defer closing(t, store)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	stopping := false
	for {
		select {
		case err := <-over:
			return ended(t, cmd.Args, err, out)
		case <-ctx.Done():
			t.Fatalf("the worker did not bring the thread to a stop:\n%s", out.String())
		case <-tick.C:
		}
		thread, err := store.Thread(t.Context(), crashThread)
		if err != nil {
			t.Fatal(err)
		}
		if stopping || thread.Status == state.StatusPending || thread.Status == state.StatusRunning {
			continue
		}
		stopping = true
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
}

// untilDone resumes until the thread is completed.
func (r *crashRun) untilDone(t *testing.T) {
	t.Helper()
	if code := r.drive(t); code != 0 {
		t.Fatalf("the thread did not complete: exit %d", code)
	}
}

// drive goes on with the thread, or starts it where it does not exist, and
// answers its question; it returns 0 when done and -1 when killed.
func (r *crashRun) drive(t *testing.T) int {
	t.Helper()
	for range 6 {
		var code int
		switch thread, found := r.thread(t); {
		case !found:
			code = r.begin(t, "run", "crash.yaml", "--config", r.path("junction.yaml"), "--thread", crashThread)
		case thread.Status == state.StatusCompleted:
			return 0
		case thread.Waiting > 0:
			code = r.begin(t, "resume", crashThread, "--answer", "true")
		default:
			code = r.begin(t, "resume", crashThread)
		}
		if code == -1 || code == 0 && !r.workers {
			return code
		}
	}
	if thread, _ := r.thread(t); thread.Status == state.StatusCompleted {
		return 0
	}
	t.Fatal("the thread makes no headway")
	return exitFailed
}

// begin runs a command that goes on with the thread; where workers do so, it
// leaves the thread to one, unless one that died has it still.
func (r *crashRun) begin(t *testing.T, args ...string) int {
	t.Helper()
	if !r.workers {
		return r.command(t, args...)
	}
	thread, found := r.thread(t)
	if !found || thread.Status.Stopped() {
		if code := r.command(t, append(args, "--detach")...); code != 0 {
			return code
		}
	}
	return r.serve(t)
}

func (r *crashRun) open(t *testing.T) state.Store {
	t.Helper()
	store, err := wire.OpenStore(t.Context(), strings.Replace(r.store, "sqlite:", "sqlite:"+r.dir+"/", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (r *crashRun) thread(t *testing.T) (state.Thread, bool) {
	t.Helper()
	store := r.open(t)
	defer closing(t, store)
	thread, err := store.Thread(t.Context(), crashThread)
	if errors.Is(err, state.ErrNotFound) {
		return state.Thread{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return thread, true
}

func (r *crashRun) trace(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(r.path("trace"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// outcome is the thread's final state, channel by channel.
func (r *crashRun) outcome(t *testing.T) map[string]string {
	t.Helper()
	store := r.open(t)
	defer closing(t, store)
	snap, err := store.Load(t.Context(), crashThread, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"step": fmt.Sprint(snap.Step)}
	for name, v := range snap.Values {
		out[name] = string(v)
	}
	for name, items := range snap.Logs {
		text, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		if name == "receipts" { // a receipt's text is the ledger's own
			text = []byte(fmt.Sprint(len(items)))
		}
		out[name] = string(text)
	}
	return out
}

// assertEffects checks the ledger and the counter: every conditional hop took
// effect once, and every safe hop that was durable at the kill ran once.
func (r *crashRun) assertEffects(t *testing.T, durable map[string]bool) {
	t.Helper()
	executions := ledgerExecutions(t, r.path("ledger.db"))
	if len(executions) != 4 {
		t.Errorf("the ledger knows %d keys, want 4 (3 publishes and the last)", len(executions))
	}
	for key, n := range executions {
		if n != 1 {
			t.Errorf("conditional hop %s took effect %d times", key, n)
		}
	}
	ran := counts(t, r.path("counts"))
	total := 0
	for _, n := range ran {
		total += n
	}
	// Each hop that was durable at the kill ran once, so what ran more often
	// is at most one repetition of each of the others.
	if most := 3 + 3 - len(durable); total > most {
		t.Errorf("safe calls ran %d times in all (%v), want at most %d: %d were durable at the kill", total, ran, most, len(durable))
	}
}

// durableSafeHops are the safe hops whose result had reached the store.
func (r *crashRun) durableSafeHops(t *testing.T) map[string]bool {
	t.Helper()
	durable := map[string]bool{}
	if _, found := r.thread(t); !found {
		return durable
	}
	store := r.open(t)
	defer closing(t, store)
	records, err := store.Records(t.Context(), state.RecordFilter{Thread: crashThread})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records {
		if rec.Node == "look" && rec.Final && rec.Status == state.CallSuccess {
			durable[rec.Hop] = true
		}
	}
	return durable
}

func closing(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// ledgerExecutions reads how often each key took effect.
func ledgerExecutions(t *testing.T, path string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, db)
	rows, err := db.QueryContext(t.Context(), "SELECT key, executions FROM junction_ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, rows)
	executions := map[string]int{}
	for rows.Next() {
		var key string
		var n int
		if err := rows.Scan(&key, &n); err != nil {
			t.Fatal(err)
		}
		executions[key] += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return executions
}
