package redis_test

import (
	"testing"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"junction/state/ledger"
	"junction/state/ledger/ledgertest"
	"junction/state/ledger/redis"
	"junction/state/redis/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Wrap(m)) }

func client(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestRedisIsALedgerStore(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	ledgertest.Run(t, func(t *testing.T) func(t *testing.T) ledger.Store {
		prefix := uuid.NewString()
		return func(t *testing.T) ledger.Store { return redis.New(client(t, server.Addr()), prefix) }
	})
}
