package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/examples/codereview/repo/repotest"
	"junction/router"
	"junction/state"
)

// twoGoReviewers are two instances of one reviewer: the first ends its process
// in the middle of its first call.
const twoGoReviewers = `
mcpServers:
  git:
    command: junction
    args: [example-server, --reviewer, diff]
    offers: [{capability: diff, tool: diff, effect: safe}]
  dying:
    command: junction
    args: [example-server, --reviewer, go, --die-after, "0"]
    offers: [{capability: code-review, tool: review, effect: safe, attributes: {language: go, review_depth: deep}}]
  living:
    command: junction
    args: [example-server, --reviewer, go]
    offers: [{capability: code-review, tool: review, effect: safe, attributes: {language: go, review_depth: shallow}}]
`

const reviewGo = `
workflow: review-go
state:
  repo:  {type: string}
  root:  {type: string}
  files: {type: array}
  issues: {type: array, reduce: append}
nodes:
  diff:
    call:  {capability: diff, with: {repo: "${repo}"}}
    write: {files: "${result.files}", root: "${result.repo}"}
  review:
    each: '${filter(files, .language == "go")}'
    call:
      capability: code-review
      need: {language: go}
      prefer: {review_depth: deep}
      with: {code: "${item.after}", language: go, context: {repo: "${root}", path: "${item.path}", revision: "${item.revision}"}}
    write: {issues: "${result.issues}"}
edges:
  - start -> diff -> review -> end
`

// junctionIn runs the command in a directory, in a process of its own.
func junctionIn(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := commandIn(ctx, t, dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// commandIn is this test binary as the command.
func commandIn(ctx context.Context, t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), commandEnv+"=1", "XDG_CONFIG_HOME="+filepath.Join(dir, ".config"))
	return cmd
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARunCompletesWhenAServerDiesInMidCall(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	repo.Write("go.mod", "module m\n\ngo 1.24\n")
	repo.Write("a.go", "package m\n\nimport \"fmt\"\n\nfunc A() { fmt.Printf(\"%d\", \"x\") }\n")
	repo.Git("add", ".")
	repo.Git("commit", "--quiet", "--message", "first")
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"w.yaml": reviewGo, "junction.yaml": twoGoReviewers})

	// The draw prefers the dying one ten to one; run until it was picked first.
	for n := range 20 {
		thread := "t-" + strconv.Itoa(n)
		stdout, stderr, code := junctionIn(t, dir, "run", "w.yaml", "--set", "repo="+repo.Dir, "--thread", thread, "--json")
		if code != exitDone {
			t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
		}
		outcome := jsonOf[view.Outcome](t, stdout)
		issues, ok := outcome.State["issues"].([]any)
		if !ok || len(issues) != 1 {
			t.Fatalf("issues = %v, want the one fault", outcome.State["issues"])
		}
		hop := outcome.Hops[len(outcome.Hops)-1]
		if hop.Attempts[0].Server != "dying" {
			continue
		}
		if len(hop.Attempts) != 2 || hop.Server != "living" || hop.Attempts[0].Code != string(router.Transport) || hop.Attempts[0].Execution != state.Unknown {
			t.Errorf("attempts = %+v, want one at dying with MCP_TRANSPORT, unknown, and one at living", hop.Attempts)
		}
		history, _, _ := junctionIn(t, dir, "history", thread)
		for _, want := range []string{"dying", "MCP_TRANSPORT", "living", "success"} {
			if !strings.Contains(history, want) {
				t.Errorf("history does not show %q:\n%s", want, history)
			}
		}
		return
	}
	t.Fatal("the preferred server was never picked first in 20 runs")
}

// TestKillLeavesNoOrphan kills a run with SIGKILL while its servers work and
// waits for every one of them to end by itself.
func TestKillLeavesNoOrphan(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds child processes in /proc")
	}
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"w.yaml": "workflow: w\nstate:\n  r: {type: any}\nnodes:\n  n: {call: {capability: lookup, with: {n: 1}}, write: {r: \"${result}\"}}\nedges:\n  - start -> n -> end\n",
		"junction.yaml": fmt.Sprintf(`
mcpServers:
  hanging:
    command: junction
    args: [example-server, --reviewer, secrets, --hang]
    offers: [{capability: lookup, tool: review, effect: safe, with: {code: x, language: any}}]
  idle:
    command: junction
    args: [example-server, --reviewer, secrets, --name, %q]
    offers: [{capability: lookup, tool: nosuch, effect: safe}]
`, filepath.Base(dir))})
	cmd := commandIn(t.Context(), t, dir, "run", "w.yaml", "--json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	children := waitFor(t, func() []int { return childrenOf(cmd.Process.Pid) }, func(c []int) bool { return len(c) == 2 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the run ended by itself")
	}
	waitFor(t, func() []int { return alive(children) }, func(left []int) bool { return len(left) == 0 })
}

// waitFor polls until done holds, for 30 seconds at most.
func waitFor(t *testing.T, look func() []int, done func([]int) bool) []int {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for {
		seen := look()
		if done(seen) {
			return seen
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("still %v after 30 s", seen)
		}
	}
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var children []int
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (name) state ppid …; the name may hold spaces and parentheses.
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// alive are those of pids that still run; a zombie has ended.
func alive(pids []int) []int {
	var left []int
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])); len(fields) > 0 && fields[0] != "Z" {
			left = append(left, pid)
		}
	}
	return left
}

// TestACancelReachesARunInAnotherProcess cancels a hanging run from a second
// process and resumes it with nothing lost.
func TestACancelReachesARunInAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{
		"w.yaml": "workflow: w\nstate:\n  r: {type: any}\nnodes:\n  first: {call: {capability: count, with: {n: 7}}, write: {r: \"${result.n}\"}}\n  second: {call: {capability: hang, with: {code: x, language: any}}}\nedges:\n  - start -> first -> second -> end\n",
		"junction.yaml": fmt.Sprintf(`
mcpServers:
  count:
    command: %q
    env: {%s: %q}
    offers: [{capability: count, tool: lookup, effect: safe}]
  hanging:
    command: junction
    args: [example-server, --reviewer, secrets, --hang]
    offers: [{capability: hang, tool: review, effect: safe}]
`, self, countEnv, filepath.Join(dir, "counts"))})
	cmd := commandIn(t.Context(), t, dir, "run", "w.yaml", "--thread", "t", "--json")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() []int { // until the first node is committed
		listed, _, code := junctionIn(t, dir, "threads", "--json")
		if code != 0 {
			return nil
		}
		var threads []state.Thread
		if json.Unmarshal([]byte(listed), &threads) != nil || len(threads) == 0 {
			return nil
		}
		return []int{threads[0].Step}
	}, func(step []int) bool { return len(step) == 1 && step[0] == 1 })

	if _, stderr, code := junctionIn(t, dir, "resume", "t"); code != exitFailed || !strings.Contains(stderr, "being run by") {
		t.Errorf("a resume of a running thread: exit %d, %s", code, stderr)
	}
	if stdout, stderr, code := junctionIn(t, dir, "cancel", "t"); code != exitDone {
		t.Fatalf("cancel: exit %d\n%s%s", code, stdout, stderr)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitCancelled {
		t.Errorf("the cancelled run: %v, want exit %d", err, exitCancelled)
	}
	if o := jsonOf[view.Outcome](t, out.String()); o.Status != state.StatusCancelled {
		t.Errorf("status %s", o.Status)
	}
	if n := counts(t, filepath.Join(dir, "counts"))["7"]; n != 1 {
		t.Errorf("the finished call was made %d times", n)
	}
}
