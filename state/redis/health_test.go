package redis

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/state"
	"junction/state/redis/redistest"
	"junction/state/statetest"
)

func TestHealth(t *testing.T) {
	statetest.RunHealth(t, func(t *testing.T) state.HealthStore { return open(t, Options{}) })
}

func TestHealthOnCluster(t *testing.T) {
	redistest.Long(t)
	address := redistest.SharedCluster(t).Address()
	statetest.RunHealth(t, func(t *testing.T) state.HealthStore {
		s, err := Open(t.Context(), address+"?prefix="+uuid.NewString(), nil)
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	})
}

func TestEveryKeyOfAServersHistoryExpires(t *testing.T) {
	s := open(t, Options{})
	minute := time.Now().UTC().Truncate(time.Minute)
	must(t, s.PutHealth(t.Context(), []state.HealthSample{{Server: "a", Worker: "w", Minute: minute}}))
	for _, key := range []string{s.healthIndexKey(), s.healthKey("a", spanOf(minute))} {
		ttl, err := s.client.PTTL(t.Context(), key).Result()
		must(t, err)
		if ttl < 24*time.Hour || ttl > 26*time.Hour {
			t.Errorf("%s lives for %v", key, ttl)
		}
	}
}
