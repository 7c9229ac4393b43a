package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// A server that never answers is nearly always the first choice; with hedging the run
// is over at once, the history has both requests, and the server hears of the cancel.
func TestARunIsHedgedWhereItsServersFileSaysSo(t *testing.T) {
	t.Parallel()
	stuck, quick := newShop(t, 0), newShop(t, time.Millisecond)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"junction.yaml": fmt.Sprintf(`
store: "memory:"
routing:
  hedge: {after: 200ms}
mcpServers:
  stuck:
    url: %s
    weight: 100
    offers: [{capability: review, tool: wait, effect: safe, with: {}, result: {issues: []}}]
  quick:
    url: %s
    offers: [{capability: review, tool: review, effect: safe}]
`, stuck.url, quick.url),
		"review.yaml": `
workflow: review
state:
  issues: {type: array}
nodes:
  review: {call: {capability: review, with: {text: main.go}, timeout: 1m}, write: {issues: "${result.issues}"}}
edges:
  - start -> review -> end
`,
	})
	for range 5 { // one in a hundred begins at the quick one
		begun := time.Now()
		stdout, stderr, code := junctionIn(t, dir, "run", "review.yaml", "--json")
		took := time.Since(begun)
		var out struct {
			Hops []struct {
				Server   string
				Attempts []struct{ Server, Status, Code string }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || len(out.Hops) != 1 {
			t.Fatalf("exit %d, %v\n%s\n%s", code, err, stdout, stderr)
		}
		hop := out.Hops[0]
		if hop.Server != "quick" || took > 30*time.Second {
			t.Errorf("answered by %q after %v, want by the quick server", hop.Server, took)
		}
		if len(hop.Attempts) == 1 {
			continue
		}
		if len(hop.Attempts) != 2 || hop.Attempts[0].Server != "stuck" || hop.Attempts[0].Status != "cancelled" || hop.Attempts[1].Status != "success" {
			t.Errorf("attempts %+v, want one cancelled at the stuck server and one answered", hop.Attempts)
		}
		select {
		case <-stuck.ended:
		case <-time.After(10 * time.Second):
			t.Error("the stuck server did not hear that its answer is not wanted any more")
		}
		return
	}
	t.Error("no run began at the server that weighs a hundred times the other")
}
