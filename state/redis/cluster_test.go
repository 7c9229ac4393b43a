package redis_test

import (
	"testing"

	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
	"junction/state/statetest"
)

// TestStoreAndQueueBehindSentinel holds them to their contracts on a master that
// its sentinels name and a replica follows.
func TestStoreAndQueueBehindSentinel(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	address := redistest.StartSentinel(t).Address()
	t.Run("store", func(t *testing.T) {
		statetest.Run(t, func(t *testing.T) state.Store { return opened(t, address, redis.Options{}) })
	})
	t.Run("queue", func(t *testing.T) {
		statetest.RunQueue(t, func(t *testing.T) state.Queue { return opened(t, address, redis.Options{}) })
	})
}
