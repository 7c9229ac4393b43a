package thirdparty_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
	"junction/state/memory"
)

// The example from the README, as the command line runs it.
func TestTheExampleWorkflowRunsAcrossServersByOthers(t *testing.T) {
	installed(t)
	file, err := workflow.Load("review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(file.Spec(routed(t, nowhere(t))))
	if err != nil {
		t.Fatal(err)
	}
	input, err := file.Input(nil)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(nil)
	defer store.Close()
	result, err := g.Run(t.Context(), graph.RunOptions{Store: store, Input: input, Definition: file.Text, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != state.StatusCompleted {
		t.Fatalf("the run ended as %s: %v", result.Status, result.Err)
	}
	if diff := cmp.Diff(inCart, findings(t, result.State["issues"])); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if code, ok := result.State["code"].(string); !ok || !strings.Contains(code, "export function total") {
		t.Errorf("code %v", result.State["code"])
	}
	if result.State["greeting"] != "Echo: 4 issues" {
		t.Errorf("greeting %v", result.State["greeting"])
	}

	records, err := store.Records(t.Context(), state.RecordFilter{Thread: result.Thread})
	if err != nil {
		t.Fatal(err)
	}
	var called []string
	for _, r := range records {
		if r.Status == state.CallSuccess {
			called = append(called, r.Node+" "+r.Server+" "+r.Tool)
		}
		if len(r.Decision) == 0 || r.InputHash == "" {
			t.Errorf("record of %s without decision or fingerprint", r.Node)
		}
	}
	slices.Sort(called)
	want := []string{"greet everything echo", "lint eslint lint-files", "read files read_text_file"}
	if !slices.Equal(called, want) {
		t.Errorf("called %v, want %v", called, want)
	}
}
