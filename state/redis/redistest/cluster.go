package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	masters = 3
	slots   = 16384
)

// Cluster is three masters that share the slots evenly.
type Cluster struct {
	t     testing.TB
	nodes []*node
	buses []*port
}

// StartCluster runs a cluster and waits until all of its masters see it whole.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c, err := newCluster(t.Context(), binary(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.t = t
	t.Cleanup(func() {
		if err := c.end(); err != nil {
			t.Errorf("end the cluster: %v", err)
		}
	})
	return c
}

func newCluster(ctx context.Context, program, dir string) (*Cluster, error) {
	c := &Cluster{}
	for i := range masters {
		bus, err := reserve(ctx)
		if err != nil {
			return nil, errors.Join(err, c.end())
		}
		c.buses = append(c.buses, bus)
		home := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(home, 0o700); err != nil {
			return nil, errors.Join(err, c.end())
		}
		n, err := newNode(ctx, program, home, []string{
			"cluster-enabled", "yes", "cluster-node-timeout", "2000", "cluster-port", strconv.Itoa(bus.number),
		})
		if err != nil {
			return nil, errors.Join(err, c.end())
		}
		c.nodes = append(c.nodes, n)
		if err := c.admit(ctx, i, bus.number); err != nil {
			return nil, errors.Join(fmt.Errorf("cluster: %w", err), c.end())
		}
	}
	if err := c.whole(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %w", err), c.end())
	}
	return c, nil
}

// admit gives the i-th master its slots and tells the first one of it.
func (c *Cluster) admit(ctx context.Context, i, bus int) error {
	own := c.nodes[i].client()
	defer own.Close()
	for _, command := range [][]any{
		{"CLUSTER", "SET-CONFIG-EPOCH", i + 1},
		{"CLUSTER", "ADDSLOTSRANGE", i * slots / masters, (i+1)*slots/masters - 1},
	} {
		if err := own.Do(ctx, command...).Err(); err != nil {
			return fmt.Errorf("%v: %w", command, err)
		}
	}
	if i == 0 {
		return nil
	}
	first := c.nodes[0].client()
	defer first.Close()
	if err := first.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", c.nodes[i].port.number, bus).Err(); err != nil {
		return fmt.Errorf("CLUSTER MEET: %w", err)
	}
	return nil
}

// whole waits until each master knows the others and all slots are served.
func (c *Cluster) whole(ctx context.Context) error {
	for _, n := range c.nodes {
		client := n.client()
		err := poll(ctx, func() (string, bool) {
			info := client.Do(ctx, "CLUSTER", "INFO").String()
			return info, strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, "cluster_slots_ok:"+strconv.Itoa(slots)) &&
				strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(masters))
		})
		if err := errors.Join(err, client.Close()); err != nil {
			return err
		}
	}
	return nil
}

// end kills the masters that still run and gives all ports back.
func (c *Cluster) end() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.end())
	}
	for _, bus := range c.buses {
		errs = append(errs, bus.giveBack())
	}
	return errors.Join(errs...)
}

// Masters returns the servers of the cluster, in the order of their slots.
func (c *Cluster) Masters() []*Server {
	servers := make([]*Server, len(c.nodes))
	for i, n := range c.nodes {
		servers[i] = &Server{c.t, n}
	}
	return servers
}

// Address returns the cluster's URL, which names all masters.
func (c *Cluster) Address() string { return "redis-cluster://" + addresses(c.nodes) }

func addresses(nodes []*node) string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = hostPort(n.port.number)
	}
	return strings.Join(list, ",")
}

// poll looks again and again, for as long as a server may take to start, and
// fails with what it saw last.
func poll(ctx context.Context, look func() (seen string, done bool)) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		seen, done := look()
		if done {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not ready within %v: %s", startWithin, seen)
		}
	}
}
