package redis_test

import (
	"context"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"junction/state/ledger"
	"junction/state/ledger/redis"
	"junction/state/redis/redistest"
)

func TestAClusterIsALedgerStore(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	var nodes []string
	for _, master := range redistest.SharedCluster(t).Masters() {
		nodes = append(nodes, master.Addr())
	}
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: nodes})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := ledger.New(redis.New(c, "cluster"), nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for n := range 64 { // so many keys lie on every node
		for range 2 {
			call := ledger.Call{Key: fmt.Sprint("{k}", n), Fingerprint: "f"}
			_, err := l.Do(t.Context(), call, func(context.Context, ledger.Run) (any, error) {
				runs++
				return n, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if runs != 64 {
		t.Errorf("%d runs of 64 keys", runs)
	}
}
