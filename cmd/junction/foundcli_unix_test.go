//go:build unix

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"junction/cmd/junction/internal/view"
	"junction/router"
	"junction/router/consul/consultest"
)

// startReviewer runs one of the example's servers in a process of its own, until
// it is told to stop at the test's end.
func startReviewer(t *testing.T, agent *consultest.Agent, args ...string) {
	t.Helper()
	cmd := commandIn(context.WithoutCancel(t.Context()), t, t.TempDir(), append([]string{"example-server", "--http", "127.0.0.1:0", "--consul", agent.Address()}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // that no agent could be told is an error of its own
	})
}

// TestTheVerbsShowWhatConsulSays reads the example's servers file for a fleet.
func TestTheVerbsShowWhatConsulSays(t *testing.T) {
	if testing.Short() {
		t.Skip("runs servers in processes of their own; -short leaves it out")
	}
	t.Parallel()
	agent := consultest.Start(t)
	startReviewer(t, agent, "--reviewer", "go")
	startReviewer(t, agent, "--reviewer", "go", "--depth", "deep")
	startReviewer(t, agent, "--reviewer", "secrets", "--fail-health")
	example, err := filepath.Abs("../../examples/codereview")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	verb := func(name string, args ...string) (stdout, stderr string, code int) {
		return junctionIn(t, dir, append([]string{name, "--config", filepath.Join(example, "fleet", "junction.yaml"), "--consul", agent.Address()}, args...)...)
	}
	until(t, "the three have registered", func() bool {
		listed, err := agent.Client().Agent().Services()
		return err == nil && len(listed) == 3
	})

	stdout, stderr, code := verb("servers", "--json")
	list := jsonOf[[]view.Server](t, stdout)
	if code != exitDone || len(list) != 2 { // the critical one is left out
		t.Fatalf("servers: exit %d, %d servers, want 2\n%s%s", code, len(list), stdout, stderr)
	}
	for _, s := range list {
		if s.Source != "consul" || s.Service != "review-go" || s.Weight != 1 || s.Stale || s.Error != "" {
			t.Errorf("servers: %+v", s)
		}
	}
	if stdout, _, _ := verb("servers"); strings.Count(stdout, "in Consul: service review-go, weight 1\n") != 2 {
		t.Errorf("servers does not say where they are from:\n%s", stdout)
	}

	stdout, stderr, code = verb("route", "--capability", "code-review", "--need", "language=go", "--prefer", "review_depth=deep", "--json")
	decision := jsonOf[router.Decision](t, stdout)
	if code != exitDone || decision.Stale || len(decision.Candidates) != 2 || decision.Candidates[0].Match+decision.Candidates[1].Match != 1 {
		t.Errorf("route: exit %d; one of two is deep, and the file does not say how deep any is\n%s%s", code, stdout, stderr)
	}

	stdout, stderr, code = verb("validate", filepath.Join(example, "review.yaml"))
	if code != exitDone || stderr != "" || !strings.Contains(stdout, "0 servers in ") || !strings.Contains(stdout, "8 services of Consul declared there") {
		t.Errorf("validate: exit %d\n%s%s", code, stdout, stderr)
	}
	writeFiles(t, dir, map[string]string{"typo.yaml": "workflow: typo\nnodes:\n  n: {call: {capability: code-reviw}}\n  m: {call: {capability: anything-else}}\nedges:\n  - start -> n -> m -> end\n"})
	if _, stderr, code := verb("validate", "typo.yaml"); code != exitDone || !strings.Contains(stderr, `did you mean "code-review"`) || strings.Contains(stderr, "anything-else") {
		t.Errorf("validate of a misspelt capability: exit %d\n%s", code, stderr)
	}

	agent.Kill()
	stdout, stderr, code = verb("servers")
	if code != exitFailed || !strings.Contains(stdout, "no servers: Consul could not be read") || !strings.Contains(stderr, "servers may be missing") || !strings.Contains(stderr, agent.Address()) {
		t.Errorf("servers without an agent: exit %d\n%s%s", code, stdout, stderr)
	}
	if stdout, _, code := verb("servers", "--json"); code != exitFailed || len(jsonOf[[]view.Server](t, stdout)) != 0 {
		t.Errorf("servers --json without an agent: exit %d\n%s", code, stdout)
	}
	if stdout, _, code := verb("route", "--capability", "code-review"); code != exitFailed || !strings.Contains(stdout, "the registry could not be reached") {
		t.Errorf("route without an agent: exit %d\n%s", code, stdout)
	}
}

// TestAnAgentThatIsBackInAMomentIsWaitedFor has the agent refuse the first two
// questions: a command that knows no server asks again before it says so.
func TestAnAgentThatIsBackInAMomentIsWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the command in a process of its own; -short leaves it out")
	}
	t.Parallel()
	f := newFound(t)
	f.register(t, f.newMember(t, nil, nil), nil)
	agent, err := url.Parse(f.agent.Address())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(agent)
	var asked atomic.Int64
	restarting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 2 {
			http.Error(w, "No cluster leader", http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		restarting.CloseClientConnections()
		restarting.Close()
	})
	stdout, stderr, code := junctionIn(t, f.dir, "route", ".", "--capability", "step", "--consul", restarting.URL)
	if code != exitDone || !strings.Contains(stdout, "picked stall-") || !strings.Contains(stderr, "No cluster leader") {
		t.Errorf("exit %d after %d questions\n%s%s", code, asked.Load(), stdout, stderr)
	}
}
