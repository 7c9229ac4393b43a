package redis

import (
	"testing"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"junction/state"
	"junction/state/redis/redistest"
	"junction/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Wrap(m)) }

// connect is a client of the server, and a store on it with keys of its own.
func connect(t testing.TB, address string, o Options) *Store {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: address, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	o.Prefix = uuid.NewString()
	s := newStore(client, address, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open is a store on the server that all tests share.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	return connect(t, redistest.Shared(t).Addr(), o)
}

func TestStore(t *testing.T) {
	statetest.Run(t, func(t *testing.T) state.Store { return open(t, Options{}) })
}

func TestStoreOnCluster(t *testing.T) {
	redistest.Long(t)
	address := redistest.SharedCluster(t).Address()
	statetest.Run(t, func(t *testing.T) state.Store {
		s, err := Open(t.Context(), address+"?prefix="+uuid.NewString(), nil)
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	})
}
