package codereview_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"junction/examples/codereview/server"
	"junction/graph"
	"junction/graph/workflow"
	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
	"junction/router/mcp"
	"junction/router/static"
	"junction/state"
	"junction/state/memory"
)

// register runs one of the example's servers in this process, as a machine of
// the fleet would, until the test ends.
func register(t *testing.T, agent *consultest.Agent, args ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan int)
	args = append(args, "--http", "127.0.0.1:0", "--consul", agent.Address())
	go func() { ended <- server.Main(ctx, args, strings.NewReader(""), io.Discard, io.Discard) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("%v ended with %d", args, code)
		}
	})
}

// found waits until the services have that many instances.
func found(t *testing.T, d router.Discovery, want map[string]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		have := map[string]int{}
		for _, s := range d.Snapshot().Servers {
			have[s.Name]++
		}
		missing := 0
		for name, n := range want {
			missing += max(0, n-have[name])
		}
		if missing == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("Consul has %v, want %v", have, want)
		}
	}
}

// The fleet's servers file is enough for the review to run on servers that
// registered themselves: each kind of call reaches one, and the report is
// published once.
func TestTheReviewRunsOnServersFoundInConsul(t *testing.T) {
	agent := consultest.Start(t)
	dir := t.TempDir()
	repo := repositoryWithAFault(filepath.Join(dir, "repo"))
	register(t, agent, "--reviewer", "diff")
	register(t, agent, "--reviewer", "go")
	register(t, agent, "--reviewer", "go", "--depth", "deep")
	register(t, agent, "--reviewer", "secrets", "--depth", "security-focused")
	register(t, agent, "--reviewer", "report")
	register(t, agent, "--reviewer", "ledger", "--dir", dir)

	config, err := static.Load(fleetFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := consul.New(consul.Options{Address: agent.Address(), Services: config.Consul.Services})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	d := router.Join(config.Discovery(), registry)
	found(t, d, map[string]int{"git": 1, "review-go": 2, "review-secrets": 1, "report": 1, "press": 1})

	out := filepath.Join(dir, "review.md")
	hops, err := reviewWith(t, d, map[string]any{"repo": repo, "output": out})
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(report), "`main.go:5:27`") {
		t.Errorf("the published report: %v\n%s", err, report)
	}
	want := []string{"diff at git: safe", "publish at press: conditional", "render at report: safe", "review at review-go: safe", "review at review-secrets: safe"}
	if !slices.Equal(slices.Compact(hops), want) {
		t.Errorf("calls %v, want %v", hops, want)
	}
	if problems := registry.Problems(); len(problems) != 0 {
		t.Errorf("problems with what the servers say of themselves: %+v", problems)
	}
}

// reviewWith runs the workflow and returns its calls by tool, service and effect,
// sorted.
func reviewWith(t *testing.T, d router.Discovery, set map[string]any) (hops []string, err error) {
	t.Helper()
	services := map[string]string{}
	for _, s := range d.Snapshot().Servers {
		services[s.ID] = s.Name
	}
	client := mcp.New(nil)
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(t.Context()))) }()
	wf, err := workflow.Load("review.yaml")
	if err != nil {
		return nil, err
	}
	input, err := wf.Input(set)
	if err != nil {
		return nil, err
	}
	g, err := graph.Compile(wf.Spec(router.New(d, client, nil)))
	if err != nil {
		return nil, err
	}
	store := memory.New(nil)
	res, err := g.Run(t.Context(), graph.RunOptions{Store: store, Definition: wf.Text, Input: input})
	if err = errors.Join(err, res.Err); err != nil {
		return nil, err
	}
	if res.Status == state.StatusInterrupted { // the fault is a serious finding
		t.Fatalf("the review waits for an answer: %+v", res.Interrupts)
	}
	records, err := store.Records(t.Context(), state.RecordFilter{})
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		hops = append(hops, r.Tool+" at "+services[r.Server]+": "+string(r.Effect))
	}
	slices.Sort(hops)
	return hops, nil
}
