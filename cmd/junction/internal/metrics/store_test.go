package metrics_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"junction/cmd/junction/internal/metrics"
	"junction/state"
	"junction/state/memory"
	"junction/state/redis"
	"junction/state/redis/redistest"
	"junction/state/sqlite"
	"junction/state/statetest"
)

// abilities are what a store can do beside.
func abilities(s state.Store) string {
	_, queue := s.(state.Queue)
	_, notify := s.(state.CancelNotifier)
	_, health := s.(state.HealthStore)
	_, share := s.(state.ShareStore)
	return fmt.Sprintf("queue %t, notify %t, health %t, share %t", queue, notify, health, share)
}

// bare is a store without any ability.
type bare struct{ state.Store }

// Stores of one ability.
type (
	queues struct {
		bare
		state.Queue
	}
	notifies struct {
		bare
		state.CancelNotifier
	}
	remembers struct {
		bare
		state.HealthStore
	}
	shares struct {
		bare
		state.ShareStore
	}
)

func TestATimedStoreCanDoWhatTheStoreCan(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := redis.Open(t.Context(), redistest.Shared(t).Address()+"?prefix=metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(nil)
	for name, s := range map[string]state.Store{
		"memory": kept, "sqlite": file, "redis": server, "bare": bare{kept},
		"queue": queues{bare{kept}, kept}, "notify": notifies{bare{kept}, nil}, "health": remembers{bare{kept}, nil}, "share": shares{bare{kept}, nil},
		"queue, health": struct {
			queues
			state.HealthStore
		}{queues{bare{kept}, kept}, nil},
		"queue, share": struct {
			queues
			state.ShareStore
		}{queues{bare{kept}, kept}, nil},
		"queue, notify": struct {
			queues
			state.CancelNotifier
		}{queues{bare{kept}, kept}, nil},
		"notify, share": struct {
			notifies
			state.ShareStore
		}{notifies{bare{kept}, nil}, nil},
	} {
		if is, want := abilities(metrics.New("test").Store(s)), abilities(s); is != want {
			t.Errorf("%s: timed %s; untimed %s", name, is, want)
		}
	}
	for _, s := range []state.Store{file, server} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestATimedStoreKeepsTheContract(t *testing.T) {
	statetest.Run(t, func(*testing.T) state.Store { return metrics.New("test").Store(memory.New(nil)) })
}

func TestAStoresRefusalsAreTold(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	s := m.Store(memory.New(nil))
	ctx := t.Context()
	if _, err := s.CreateThread(ctx, state.NewThread{ID: "t", Lineage: "l"}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(ctx, "t", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(ctx, "t", "you", time.Minute); err == nil {
		t.Fatal("two hold it")
	}
	stale := l
	stale.Token--
	if err := s.SetStatus(ctx, stale, state.StatusFailed, nil, nil); err == nil {
		t.Fatal("a stale lease wrote")
	}
	if _, err := s.Renew(ctx, stale); err == nil {
		t.Fatal("a stale lease was renewed")
	}
	if _, err := s.Thread(ctx, "nobody"); err == nil {
		t.Fatal("there is a thread")
	}
	if _, err := s.Commit(ctx, state.Commit{Lease: l, Parent: 7, WriteID: "w", Status: state.StatusRunning}); !errors.Is(err, state.ErrConflict) {
		t.Fatalf("committed after a checkpoint that is not there: %v", err)
	}
	expect(t, m, map[string]float64{
		"junction_store_errors_total busy acquire": 1, "junction_store_errors_total lease_lost set_status": 1,
		"junction_store_errors_total lease_lost renew": 1, "junction_store_errors_total not_found thread": 1,
		"junction_store_errors_total conflict commit":       1,
		"junction_fenced_writes_total":                      1, // a renewal writes nothing
		"junction_store_operation_duration_seconds acquire": 2, "langgraph_checkpoint_duration_seconds": 1,
	})
}

func TestTheQueuesDepthIsReadAtAScrape(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	kept := memory.New(nil)
	m.Ask(metrics.Sources{Queue: kept})
	if err := kept.Enqueue(t.Context(), "now", 0); err != nil {
		t.Fatal(err)
	}
	if err := kept.Enqueue(t.Context(), "later", time.Hour); err != nil {
		t.Fatal(err)
	}
	expect(t, m, map[string]float64{"junction_queue_depth due": 1, "junction_queue_depth later": 1})
}
