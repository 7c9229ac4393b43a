package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"junction/state/redis/redistest"
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
	if runtime.GOOS == "windows" {
		t.Skip("a crash point kills its process with a signal")
	}
	binary := buildWithCrashPoints(t)
	redis := func(t *testing.T) func() string { return apart(redistest.Shared(t).Address()) }
	for _, k := range []killing{
		{name: "sqlite", backend: "sqlite", store: func(*testing.T) func() string { return func() string { return "sqlite:state.db" } }},
		{name: "redis", backend: "redis", store: redis},
		{name: "workers on redis", backend: "redis", workers: true, store: redis},
		{name: "cluster", backend: "redis", long: true, store: func(t *testing.T) func() string { return apart(redistest.StartCluster(t).Address()) }},
	} {
		t.Run(k.name, func(t *testing.T) {
			if k.long {
				redistest.Long(t)
			}
			k.binary = binary
			k.run(t)
		})
	}
}

// killing is the test in one of its surroundings.
type killing struct {
	name, backend, binary string
	workers               bool                             // the thread is left to workers
	long                  bool                             // only where time is no matter
	store                 func(t *testing.T) func() string // gives addresses that nobody else uses
}

// apart gives each caller keys of its own.
func apart(address string) func() string {
	return func() string { return address + "?prefix=" + uuid.NewString() }
}

func (k killing) run(t *testing.T) {
	store := k.store(t)
	start := func(t *testing.T) *crashRun { return newCrashRun(t, k.binary, store(), k.workers) }
	whole := start(t)
	whole.untilDone(t)
	want := whole.outcome(t)
	trace := whole.trace(t)
	k.assertCovered(t, trace)

	// Most of the time is spent waiting for leases of the dead: more run at once
	// than there are processors.
	limit := make(chan struct{}, 8)
	var all sync.WaitGroup
	for _, at := range passages(trace) {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			t.Run(at.String(), func(t *testing.T) {
				r := killed(t, start, at)
				durable := r.durableSafeHops(t)
				r.untilDone(t)
				if diff := cmp.Diff(want, r.outcome(t)); diff != "" {
					t.Errorf("after a kill at %s the outcome differs from an uninterrupted run's (-want +got):\n%s", at, diff)
				}
				r.assertEffects(t, durable)
			})
		})
	}
	all.Wait()
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
func killed(t *testing.T, start func(*testing.T) *crashRun, at passage) *crashRun {
	t.Helper()
	for ; at.nth > 0; at.nth-- {
		r := start(t)
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
// not pass; those of other backends' packages and of workers are theirs.
func (k killing) assertCovered(t *testing.T, trace []string) {
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
		if of, ok := strings.CutPrefix(filepath.ToSlash(filepath.Dir(where[0])), "../../state/"); ok && of != k.backend {
			continue
		}
		if strings.HasPrefix(name, "queue.") && !k.workers {
			continue
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
