package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state"
	"junction/state/sqlite"
)

// crashWorkflow passes every crash point: safe and conditional hops alone and
// in a fan-out, a question, and an error handler.
const crashWorkflow = `
workflow: crash
state:
  items:    {type: array, default: [1, 2, 3]}
  seen:     {type: array, reduce: append}
  receipts: {type: array, reduce: append}
  approved: {type: boolean}
  excuse:   {type: string}
  report:   {type: string}
nodes:
  look:
    each:  "${items}"
    call:  {capability: lookup, with: {n: "${item}"}}
    write: {seen: "${[result.n]}"}
  publish:
    each:  "${items}"
    call:  {capability: publish, with: {text: "text ${item}"}}
    write: {receipts: "${[result.receipt]}"}
  gate:
    ask:   {question: "Go on?"}
    write: {approved: "${answer}"}
  broken:
    call:     {server: count, tool: refuse, with: {}, effect: safe}
    write:    {excuse: never}
    on_error: {write: {excuse: "${error.code}"}}
  last:
    call:  {capability: publish, with: {text: last}}
    write: {receipts: "${[result.receipt]}", report: "${string(len(seen))} seen"}
edges:
  - start -> look -> publish -> gate -> broken -> last -> end
`

// crashServers offers a safe tool that counts its executions and a conditional
// one with a durable ledger.
const crashServers = `
mcpServers:
  count:
    command: %q
    env: {JUNCTION_TEST_COUNTS: %q}
    offers:
      - {capability: lookup, tool: lookup, effect: safe}
  ledger:
    command: %q
    args: [example-server, --reviewer, ledger, --ledger, %q]
    offers:
      - {capability: publish, tool: publish, effect: conditional, key: idempotencyKey}
`

// TestKillAtEveryPoint kills the process at every journal and commit point
// and resumes: no conditional hop ran twice, no safe hop whose outcome was
// durable ran again, and the result is that of an uninterrupted run.
func TestKillAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a binary with crash points and runs it many times; -short leaves it out")
	}
	binary := buildWithCrashPoints(t)
	whole := newCrashRun(t, binary)
	whole.untilDone(t)
	want := whole.outcome(t)
	trace := whole.trace(t)
	assertCovered(t, trace)

	for _, at := range passages(trace) {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			r := killed(t, binary, at)
			durable := r.durableSafeHops(t)
			r.untilDone(t)
			if diff := cmp.Diff(want, r.outcome(t)); diff != "" {
				t.Errorf("after a kill at %s the outcome differs from an uninterrupted run's (-want +got):\n%s", at, diff)
			}
			r.assertEffects(t, durable)
		})
	}
}

// passage is the Nth time that a crash point is passed.
type passage struct {
	point string
	nth   int
}

func (p passage) String() string { return fmt.Sprintf("%s#%d", p.point, p.nth) }

// killed returns a run that was killed at a passage. How many commits a store
// makes of neighbouring writes differs from run to run: where this one did not
// come so far, an earlier passage is taken.
func killed(t *testing.T, binary string, at passage) *crashRun {
	t.Helper()
	for ; at.nth > 0; at.nth-- {
		r := newCrashRun(t, binary)
		r.crashAt = fmt.Sprintf("%s:%d", at.point, at.nth)
		code := r.drive(t)
		r.crashAt = ""
		if code == -1 {
			return r
		}
		passed := 0
		for _, name := range r.trace(t) {
			if name == at.point {
				passed++
			}
		}
		if passed >= at.nth {
			t.Fatalf("%s was passed %d times and nothing was killed", at.point, passed)
		}
	}
	t.Fatalf("%s was never passed", at.point)
	return nil
}

// passages are each point's first, middle and last passage.
func passages(trace []string) []passage {
	count := map[string]int{}
	for _, name := range trace {
		count[name]++
	}
	var at []passage
	for _, name := range slices.Sorted(maps.Keys(count)) {
		n := count[name]
		nths := []int{1, n/2 + 1, n}
		for _, nth := range slices.Compact(nths) {
			at = append(at, passage{name, nth})
		}
	}
	return at
}

// assertCovered fails when the source has a crash point that the workflow did
// not pass.
func assertCovered(t *testing.T, trace []string) {
	t.Helper()
	point := regexp.MustCompile(`crash\.Point\("([^"]+)"\)`)
	places := map[string][]string{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range point.FindAllStringSubmatch(string(source), -1) {
			places[m[1]] = append(places[m[1]], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(places) < 10 {
		t.Fatalf("only %d crash points found in the source: is the search broken?", len(places))
	}
	for name, where := range places {
		if len(where) > 1 {
			t.Errorf("crash point %q stands at %d places: %v", name, len(where), where)
		}
		if !slices.Contains(trace, name) {
			t.Errorf("crash point %q (%s) is not passed by the test's workflow: add a step that does", name, where[0])
		}
	}
	t.Logf("%d crash points, %d passages in an uninterrupted run", len(places), len(trace))
}

// buildWithCrashPoints builds the command with its crash points switched on.
func buildWithCrashPoints(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "junction-crash")
	build := exec.Command("go", "build", "-tags", "crashpoints", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// crashRun is one thread in a directory of its own.
type crashRun struct {
	binary, dir, crashAt string
}

const crashThread = "crash-thread"

func newCrashRun(t *testing.T, binary string) *crashRun {
	t.Helper()
	r := &crashRun{binary: binary, dir: t.TempDir()}
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
	cmd := exec.CommandContext(ctx, r.binary, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "JUNCTION_CRASH="+r.crashAt, "JUNCTION_CRASH_TRACE="+r.path("trace"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			if status.Signal() != syscall.SIGKILL || ctx.Err() != nil {
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
			code = r.command(t, "run", "crash.yaml", "--thread", crashThread)
		case thread.Status == state.StatusCompleted:
			return 0
		case thread.Waiting > 0:
			code = r.command(t, "resume", crashThread, "--answer", "true")
		default:
			code = r.command(t, "resume", crashThread)
		}
		if code == 0 || code == -1 {
			return code
		}
	}
	t.Fatal("the thread makes no headway")
	return exitFailed
}

func (r *crashRun) open(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), r.path(".junction/state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (r *crashRun) thread(t *testing.T) (state.Thread, bool) {
	t.Helper()
	if _, err := os.Stat(r.path(".junction/state.db")); err != nil {
		return state.Thread{}, false
	}
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
	rows, err := db.QueryContext(t.Context(), "SELECT key, executions FROM publication")
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
