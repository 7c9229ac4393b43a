package redis

import (
	"strings"
	"testing"
	"time"

	"junction/state/redis/redistest"
)

// TestAMasterThatMayBeCutOffIsFound asks real servers, since INFO tells of good
// replicas only where some are asked for.
func TestAMasterThatMayBeCutOffIsFound(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, "appendonly", "yes")
	found := func() (settings string) {
		t.Helper()
		s, err := Open(t.Context(), master.Address(), nil)
		must(t, err)
		findings, err := s.Unsafe(t.Context())
		must(t, err)
		must(t, s.Close())
		for _, f := range findings {
			settings += f.Setting + " " + f.Value
		}
		return settings
	}
	equal(t, "alone", found(), "")
	host, port, _ := strings.Cut(master.Addr(), ":")
	redistest.Start(t, "replicaof", host+" "+port)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); found() != "min-replicas-to-write 0"; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("with a replica: %q", found())
		}
	}
	master.Do("CONFIG", "SET", "min-replicas-to-write", "1")
	equal(t, "that waits for its replica", found(), "")
}
