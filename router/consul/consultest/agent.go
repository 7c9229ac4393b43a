package consultest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/state/childtest"
)

// startWithin bounds a start: a second on an idle machine.
const startWithin = time.Minute

// Agent is one running Consul agent, a server of its own. It is used by one
// goroutine at a time.
type Agent struct {
	t      testing.TB
	binary string
	dir    string // configuration and log
	ports  ports
	token  string
	client *api.Client

	process *exec.Cmd
	exited  chan struct{} // closed when the process has ended
}

// Option changes how an agent is started.
type Option func(*Agent)

// WithACL denies everything that is not allowed, and gives token every right.
// The token has the form of a UUID.
func WithACL(token string) Option { return func(a *Agent) { a.token = token } }

// Start starts an agent and waits until it can be used. The test's end ends it.
func Start(t testing.TB, options ...Option) *Agent {
	t.Helper()
	a := &Agent{t: t, binary: Binary(t), dir: t.TempDir()}
	for _, o := range options {
		o(a)
	}
	t.Cleanup(func() {
		a.Kill()
		if t.Failed() {
			t.Logf("the Consul agent's last words:\n%s", a.lastWords())
		}
	})
	for range 5 {
		a.ports = freePorts(t)
		if err := a.start(); err == nil {
			return a
		} else if !bytes.Contains(a.lastWords(), []byte("address already in use")) {
			t.Fatalf("the Consul agent did not start: %v\n%s", err, a.lastWords())
		}
	}
	t.Fatal("the Consul agent found its ports taken five times")
	return nil
}

// Address is the URL of its HTTP interface.
func (a *Agent) Address() string { return "http://" + a.hostPort() }

func (a *Agent) hostPort() string { return "127.0.0.1:" + strconv.Itoa(a.ports.HTTP) }

// Token is the one with every right; "" without [WithACL].
func (a *Agent) Token() string { return a.token }

// Client is a client with every right.
func (a *Agent) Client() *api.Client { return a.client }

// Kill ends the agent at once, as kill -9 does. What it knew is lost.
func (a *Agent) Kill() {
	if a.process == nil {
		return
	}
	if err := a.process.Process.Kill(); err != nil && !a.ended() {
		a.t.Errorf("the Consul agent could not be killed: %v", err)
	}
	<-a.exited
	a.process = nil
}

// Restart kills the agent and starts it at the same address, knowing nothing.
func (a *Agent) Restart() {
	a.t.Helper()
	a.Kill()
	if err := a.start(); err != nil {
		a.t.Fatalf("the Consul agent did not start again: %v\n%s", err, a.lastWords())
	}
}

// Stop suspends the agent: connections to it stay, and nothing answers.
func (a *Agent) Stop() {
	a.t.Helper()
	if err := childtest.Stop(a.process.Process); err != nil {
		a.t.Fatalf("the Consul agent could not be stopped: %v", err)
	}
}

// Cont lets a stopped agent go on.
func (a *Agent) Cont() {
	a.t.Helper()
	if err := childtest.Cont(a.process.Process); err != nil {
		a.t.Fatalf("the Consul agent could not be continued: %v", err)
	}
	if err := a.await(); err != nil {
		a.t.Fatalf("the Consul agent did not go on: %v\n%s", err, a.lastWords())
	}
}

func (a *Agent) start() error {
	config := map[string]any{
		"ports":                a.ports,
		"node_name":            "node1",
		"connect":              map[string]any{"enabled": false},
		"disable_update_check": true,
		"limits":               map[string]any{"http_max_conns_per_client": 2000},
	}
	if a.token != "" {
		config["acl"] = map[string]any{
			"enabled": true, "default_policy": "deny",
			"tokens": map[string]any{"initial_management": a.token},
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	file := filepath.Join(a.dir, "agent.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	log, err := os.Create(a.logFile())
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	child := exec.Command(a.binary, "agent", "-dev", "-bind", "127.0.0.1", "-client", "127.0.0.1", "-log-level", "warn", "-config-file", file)
	child.Stdout, child.Stderr = log, log
	childtest.Bound(child)
	if err := child.Start(); err != nil {
		return err
	}
	a.process, a.exited = child, make(chan struct{})
	go func(exited chan struct{}) {
		child.Wait() //nolint:errcheck // how it ended is in its log
		close(exited)
	}(a.exited)
	if a.client, err = api.NewClient(&api.Config{Address: a.Address(), Token: a.token}); err != nil {
		return err
	}
	return a.await()
}

// await waits until the agent has a leader and has put itself in the catalogue,
// which it does when it can be written to.
func (a *Agent) await() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.t.Context()), startWithin)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		services, _, err := a.client.Catalog().Services((&api.QueryOptions{}).WithContext(ctx))
		if err == nil && services["consul"] != nil {
			return nil
		}
		select {
		case <-look.C:
		case <-a.exited:
			return fmt.Errorf("it ended")
		case <-ctx.Done():
			return fmt.Errorf("it has no leader after %s: %w", startWithin, err)
		}
	}
}

func (a *Agent) ended() bool {
	select {
	case <-a.exited:
		return true
	default:
		return false
	}
}

func (a *Agent) logFile() string { return filepath.Join(a.dir, "agent.log") }

// lastWords is the end of the agent's log.
func (a *Agent) lastWords() []byte {
	const most = 4 << 10
	text, err := os.ReadFile(a.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}
