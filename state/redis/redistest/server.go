package redistest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"junction/state/childtest"
)

const serves = "Ready to accept connections"

// Server is one redis-server. Its methods fail the test it was started for; call
// them from the test's goroutine.
type Server struct {
	t    testing.TB
	node *node
}

// Start runs a server that keeps nothing on disk, in a directory that goes with
// the test. Settings come in pairs and win, as in
// Start(t, "appendonly", "yes", "appendfsync", "always").
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	n, err := newNode(t.Context(), binary(t), t.TempDir(), settings)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t, n}
	t.Cleanup(func() { endNode(t, n) })
	return s
}

// node is a server apart from the test that uses it.
type node struct {
	program string
	ready   string
	port    *port
	args    []string    // all but the port
	tls     *tls.Config // nil: none
	run     *process
}

func newNode(ctx context.Context, program, dir string, settings []string) (*node, error) {
	args, err := pairs(settings)
	if err != nil {
		return nil, err
	}
	return startNode(ctx, program, serves, append(plainArgs(dir), args...))
}

// plainArgs let a server keep nothing on disk.
func plainArgs(dir string) []string {
	return []string{"--dir", dir, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"}
}

func pairs(settings []string) ([]string, error) {
	if len(settings)%2 != 0 {
		return nil, fmt.Errorf("settings come in pairs: %q", settings)
	}
	var args []string
	for i := 0; i < len(settings); i += 2 {
		args = append(args, "--"+settings[i], settings[i+1])
	}
	return args, nil
}

func startNode(ctx context.Context, program, ready string, args []string) (*node, error) {
	n := &node{program: program, ready: ready, args: args}
	return n, n.find(ctx)
}

// find starts a server on a port that is free. Where somebody who locks no ports
// takes it in between, another one is tried.
func (n *node) find(ctx context.Context) error {
	for tries := 1; ; tries++ {
		var err error
		if n.port, err = reserve(ctx); err != nil {
			return err
		}
		if err = n.start(); err == nil {
			return nil
		}
		if back := n.port.giveBack(); back != nil || tries == 5 || !strings.Contains(err.Error(), "in use") {
			return errors.Join(err, back)
		}
	}
}

// end kills the server, if it still runs, and gives its port back.
func (n *node) end() error { return errors.Join(n.run.kill(), n.port.giveBack()) }

func endNode(t testing.TB, n *node) {
	if err := n.end(); err != nil {
		t.Errorf("end redis-server: %v", err)
	}
}

// start runs the server; what is in its directory is read again.
func (n *node) start() error {
	flag := "--port"
	if n.tls != nil {
		flag = "--tls-port"
	}
	args := append(append([]string{}, n.args...), flag, strconv.Itoa(n.port.number))
	run, err := launch(n.program, n.ready, args)
	n.run = run
	return err
}

// Addr returns host:port.
func (s *Server) Addr() string { return hostPort(s.node.port.number) }

// Address returns the server's URL, without a password and without files.
func (s *Server) Address() string {
	if s.node.tls != nil {
		return "rediss://" + s.Addr()
	}
	return "redis://" + s.Addr()
}

// Kill ends the server as a power cut would, by SIGKILL, if it still runs.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.node.run.kill(); err != nil {
		s.t.Errorf("kill redis-server: %v", err)
	}
}

// Restart ends the server, if it runs, and starts it again on the same port, in
// the same directory.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.node.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Stop suspends the server: it accepts connections and answers nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if err := childtest.Stop(s.node.run.cmd.Process); err != nil {
		s.t.Fatalf("stop redis-server: %v", err)
	}
}

// Cont lets a suspended server go on.
func (s *Server) Cont() {
	s.t.Helper()
	if err := childtest.Cont(s.node.run.cmd.Process); err != nil {
		s.t.Fatalf("continue redis-server: %v", err)
	}
}

// Do sends one command over a connection of its own and returns the answer.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	client := s.Client()
	defer client.Close()
	answer, err := client.Do(s.t.Context(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// Client returns a plain client, for looking behind a store's back. The caller
// closes it.
func (s *Server) Client() *goredis.Client { return s.node.client() }

func (n *node) client() *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Addr: hostPort(n.port.number), TLSConfig: n.tls, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
}
