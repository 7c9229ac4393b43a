package redis_test

import (
	"testing"

	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
	"junction/state/statetest"
)

func TestShares(t *testing.T) {
	t.Parallel()
	statetest.RunShares(t, func(t *testing.T) state.ShareStore {
		return opened(t, redistest.Shared(t).Address(), redis.Options{})
	})
}

func TestSharesOnCluster(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	statetest.RunShares(t, func(t *testing.T) state.ShareStore {
		return opened(t, redistest.SharedCluster(t).Address(), redis.Options{})
	})
}
