package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// MasterName is what the sentinels call the servers they watch over.
const MasterName = "mymaster"

// watchers is how many sentinels there are; two of them decide on a failover.
const watchers = 3

// Sentinel is a master and its replica under three sentinels, which take a
// master for dead after 500 ms.
type Sentinel struct {
	t         testing.TB
	servers   []*node // the first master, then its replica
	sentinels []*node
}

// StartSentinel runs the set and waits until each sentinel knows all others and
// the replica, so that a failover can begin.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()
	s := &Sentinel{t: t}
	program := binary(t)
	keep := func(n *node, err error) *node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { endNode(t, n) })
		return n
	}
	master := keep(newNode(t.Context(), program, t.TempDir(), []string{"repl-diskless-sync-delay", "0"}))
	replica := keep(newNode(t.Context(), program, t.TempDir(), []string{"replicaof", "127.0.0.1 " + strconv.Itoa(master.port.number)}))
	s.servers = []*node{master, replica}
	for range watchers {
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		if err := os.WriteFile(file, []byte(sentinelSettings(master.port.number, filepath.Dir(file))), 0o600); err != nil {
			t.Fatal(err)
		}
		s.sentinels = append(s.sentinels, keep(startNode(t.Context(), program, "+monitor master", []string{file, "--sentinel"})))
	}
	for _, n := range s.sentinels {
		if err := s.acquainted(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func sentinelSettings(master int, dir string) string {
	return strings.Join([]string{
		"bind 127.0.0.1",
		"dir " + strconv.Quote(dir),
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", MasterName, master),
		"sentinel down-after-milliseconds " + MasterName + " 500",
		"sentinel failover-timeout " + MasterName + " 3000",
	}, "\n") + "\n"
}

func (s *Sentinel) acquainted(ctx context.Context, n *node) error {
	client := goredis.NewSentinelClient(&goredis.Options{Addr: hostPort(n.port.number), MaxRetries: -1, DisableIdentity: true})
	defer client.Close()
	return poll(ctx, func() (string, bool) {
		m, err := client.Master(ctx, MasterName).Result()
		return fmt.Sprintf("%v %v", m, err), err == nil && m["flags"] == "master" &&
			m["num-slaves"] == "1" && m["num-other-sentinels"] == strconv.Itoa(watchers-1)
	})
}

// Address returns the URL that names the sentinels.
func (s *Sentinel) Address() string {
	return "redis-sentinel://" + addresses(s.sentinels) + "/" + MasterName
}

// Master returns the server that the sentinels agree on.
func (s *Sentinel) Master() *Server {
	s.t.Helper()
	var votes []int
	err := poll(s.t.Context(), func() (string, bool) {
		votes = votes[:0]
		for _, n := range s.sentinels {
			client := goredis.NewSentinelClient(&goredis.Options{Addr: hostPort(n.port.number), MaxRetries: -1, DisableIdentity: true})
			addr, err := client.GetMasterAddrByName(s.t.Context(), MasterName).Result()
			client.Close()
			if err != nil || len(addr) != 2 {
				return fmt.Sprint(addr, err), false
			}
			port, err := strconv.Atoi(addr[1])
			if err != nil {
				return addr[1], false
			}
			votes = append(votes, port)
		}
		return fmt.Sprint("sentinels name ports ", votes), len(slices.Compact(slices.Clone(votes))) == 1
	})
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(s.servers, func(n *node) bool { return n.port.number == votes[0] })
	if i < 0 {
		s.t.Fatalf("the sentinels name port %d, which is none of ours", votes[0])
	}
	return &Server{s.t, s.servers[i]}
}

// KillMaster ends the master by SIGKILL and returns it; the sentinels then make
// the replica master.
func (s *Sentinel) KillMaster() *Server {
	s.t.Helper()
	master := s.Master()
	master.Kill()
	return master
}
