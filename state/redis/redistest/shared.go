package redistest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the server and the cluster of this test process.
var shared struct {
	sync.Mutex
	wrapped bool
	users   int
	node    *node
	cluster *Cluster
	dir     string
}

// Runner runs the tests of a package.
type Runner struct{ m *testing.M }

// Wrap keeps shared servers until all tests of the package are over.
func Wrap(m *testing.M) Runner { return Runner{m} }

// Run runs the tests, ends the shared servers and returns the exit code.
func (r Runner) Run() int {
	shared.wrapped = true
	code := r.m.Run()
	shared.Lock()
	defer shared.Unlock()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Shared returns the test process's one server, which keeps nothing on disk. It
// ends with the last test that uses it, or, in a package run by [Wrap], after
// all of them. Nobody kills, stops or reconfigures it; each user takes a prefix
// of its own.
func Shared(t testing.TB) *Server {
	t.Helper()
	program := binary(t)
	share(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.node == nil {
		n, err := newNode(t.Context(), program, os.TempDir(), nil) // it writes nothing there
		if err != nil {
			t.Fatal(err)
		}
		shared.node = n
	}
	return &Server{t, shared.node}
}

// SharedCluster is [Shared] for a cluster.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	program := binary(t)
	share(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		dir, err := os.MkdirTemp("", "junction-cluster-") //nolint:usetesting // it outlives the test
		if err != nil {
			t.Fatal(err)
		}
		shared.dir = dir
		if shared.cluster, err = newCluster(t.Context(), program, dir); err != nil {
			t.Fatal(err)
		}
	}
	return &Cluster{t: t, nodes: shared.cluster.nodes}
}

// share counts t as a user until it ends.
func share(t testing.TB) {
	shared.Lock()
	defer shared.Unlock()
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		shared.users--
		if shared.users > 0 || shared.wrapped {
			return
		}
		if err := endShared(); err != nil {
			t.Error(err)
		}
	})
}

// endShared ends what is shared. The lock is held.
func endShared() error {
	var errs []error
	if shared.node != nil {
		errs = append(errs, shared.node.end())
	}
	if shared.cluster != nil {
		errs = append(errs, shared.cluster.end(), os.RemoveAll(shared.dir))
	}
	shared.node, shared.cluster, shared.dir = nil, nil, ""
	return errors.Join(errs...)
}
