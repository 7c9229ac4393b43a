package metrics

import (
	"context"
	"time"

	"junction/state"
)

// The abilities that a store may have beside. What waits, or only tells, is not
// timed.
type (
	queue       timed[state.Queue]
	healthStore timed[state.HealthStore]
	shareStore  timed[state.ShareStore]
)

func (s queue) Enqueue(ctx context.Context, thread string, after time.Duration) error {
	begun := time.Now()
	err := s.next.Enqueue(ctx, thread, after)
	s.m.stored(opEnqueue, begun, err)
	return err
}

func (s queue) Extend(ctx context.Context, claims []state.Claim, turn time.Duration) ([]state.Claim, error) {
	begun := time.Now()
	v, err := s.next.Extend(ctx, claims, turn)
	s.m.stored(opExtend, begun, err)
	return v, err
}

func (s queue) Done(ctx context.Context, c state.Claim) error {
	begun := time.Now()
	err := s.next.Done(ctx, c)
	s.m.stored(opDone, begun, err)
	return err
}

func (s queue) Defer(ctx context.Context, c state.Claim, after time.Duration) error {
	begun := time.Now()
	err := s.next.Defer(ctx, c, after)
	s.m.stored(opDefer, begun, err)
	return err
}

func (s healthStore) PutHealth(ctx context.Context, samples []state.HealthSample) error {
	begun := time.Now()
	err := s.next.PutHealth(ctx, samples)
	s.m.stored(opPutHealth, begun, err)
	return err
}

func (s healthStore) Health(ctx context.Context, server string, from, to time.Time) ([]state.HealthSample, error) {
	begun := time.Now()
	v, err := s.next.Health(ctx, server, from, to)
	s.m.stored(opHealth, begun, err)
	return v, err
}

func (s shareStore) Exchange(ctx context.Context, worker string, shares []state.Share, keep time.Duration) ([]state.Shared, error) {
	begun := time.Now()
	v, err := s.next.Exchange(ctx, worker, shares, keep)
	s.m.stored(opExchange, begun, err)
	return v, err
}

func (s queue) Claim(ctx context.Context, n int, turn time.Duration) ([]state.Claim, time.Duration, error) {
	begun := time.Now()
	claims, next, err := s.next.Claim(ctx, n, turn)
	s.m.stored(opClaim, begun, err)
	return claims, next, err
}

func (s queue) QueueLen(ctx context.Context) (due, later int, err error) {
	begun := time.Now()
	due, later, err = s.next.QueueLen(ctx)
	s.m.stored(opQueueLen, begun, err)
	return due, later, err
}

func (s queue) WaitQueued(ctx context.Context, most time.Duration) error {
	return s.next.WaitQueued(ctx, most)
}

// withAbilities is s, timed, with just the abilities that s has: others ask for them
// by type.
func withAbilities(m *Metrics, s state.Store) state.Store {
	h, remembers := s.(state.HealthStore)
	e, shares := s.(state.ShareStore)
	k := keeps{remembers, shares, healthStore{m, h}, shareStore{m, e}}
	q, queues := s.(state.Queue)
	n, notifies := s.(state.CancelNotifier)
	switch {
	case queues && notifies:
		return k.queued(store{m, s}, queue{m, q}, n)
	case queues:
		return k.unheard(store{m, s}, queue{m, q})
	case notifies:
		return k.heard(store{m, s}, n)
	}
	return k.alone(store{m, s})
}

// keeps is what a store keeps of servers.
type keeps struct {
	remembers, shares bool
	health            healthStore
	share             shareStore
}

func (k keeps) queued(t store, q queue, n state.CancelNotifier) state.Store {
	switch {
	case k.remembers && k.shares:
		return struct {
			store
			queue
			state.CancelNotifier
			healthStore
			shareStore
		}{t, q, n, k.health, k.share}
	case k.remembers:
		return struct {
			store
			queue
			state.CancelNotifier
			healthStore
		}{t, q, n, k.health}
	case k.shares:
		return struct {
			store
			queue
			state.CancelNotifier
			shareStore
		}{t, q, n, k.share}
	}
	return struct {
		store
		queue
		state.CancelNotifier
	}{t, q, n}
}

func (k keeps) unheard(t store, q queue) state.Store {
	switch {
	case k.remembers && k.shares:
		return struct {
			store
			queue
			healthStore
			shareStore
		}{t, q, k.health, k.share}
	case k.remembers:
		return struct {
			store
			queue
			healthStore
		}{t, q, k.health}
	case k.shares:
		return struct {
			store
			queue
			shareStore
		}{t, q, k.share}
	}
	return struct {
		store
		queue
	}{t, q}
}

func (k keeps) heard(t store, n state.CancelNotifier) state.Store {
	switch {
	case k.remembers && k.shares:
		return struct {
			store
			state.CancelNotifier
			healthStore
			shareStore
		}{t, n, k.health, k.share}
	case k.remembers:
		return struct {
			store
			state.CancelNotifier
			healthStore
		}{t, n, k.health}
	case k.shares:
		return struct {
			store
			state.CancelNotifier
			shareStore
		}{t, n, k.share}
	}
	return struct {
		store
		state.CancelNotifier
	}{t, n}
}

func (k keeps) alone(t store) state.Store {
	switch {
	case k.remembers && k.shares:
		return struct {
			store
			healthStore
			shareStore
		}{t, k.health, k.share}
	case k.remembers:
		return struct {
			store
			healthStore
		}{t, k.health}
	case k.shares:
		return struct {
			store
			shareStore
		}{t, k.share}
	}
	return t
}
