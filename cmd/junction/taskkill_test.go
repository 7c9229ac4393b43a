package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"junction/state"
)

const buildWorkflow = `workflow: build
state:
  artifact: {type: string}
nodes:
  build:
    call:  {capability: build, with: {}, timeout: {idle: 1m, max: 2m}}
    write: {artifact: "${result.artifact}"}
edges:
  - start -> build -> end
`

// TestARunKilledDuringATaskAttachesToItAgain kills a run with SIGKILL while a
// server works on the task that a call became, and resumes it in another process.
func TestARunKilledDuringATaskAttachesToItAgain(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		for _, effect := range []string{"safe", "conditional\n        key: _meta.key", "unsafe"} {
			t.Run(fmt.Sprintf("modern %v %.11s", modern, effect), func(t *testing.T) {
				t.Parallel()
				s := startTaskServer(t, modern)
				dir := t.TempDir()
				writeFiles(t, dir, map[string]string{"build.yaml": buildWorkflow, "junction.yaml": fmt.Sprintf(`mcpServers:
  builder:
    url: %s
    offers:
      - capability: build
        tool: build
        effect: %s
`, s.url, effect)})
				first := commandIn(t.Context(), t, dir, "run", "build.yaml", "--thread", "t", "--lease", "1s", "--json")
				if err := first.Start(); err != nil {
					t.Fatal(err)
				}
				select {
				case <-s.asked:
				case <-time.After(time.Minute):
					t.Error("the task was never asked for")
				}
				if err := first.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if exit := (*exec.ExitError)(nil); !errors.As(first.Wait(), &exit) {
					t.Fatal("the first run was not killed")
				}
				s.complete()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				out, err := commandIn(ctx, t, dir, "resume", "t", "--lease", "1s", "--json").Output()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				res := jsonOf[struct {
					Status state.Status
					State  map[string]any
				}](t, string(out))
				if res.Status != state.StatusCompleted || res.State["artifact"] != "a.tar" {
					t.Errorf("%+v", res)
				}
				if calls, gets, cancels := s.counts(); calls != 1 || gets < 2 || cancels != 0 {
					t.Errorf("%d calls, %d questions, %d cancels; want 1, at least 2, 0", calls, gets, cancels)
				}
			})
		}
	}
}
