package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/state"
)

var _ state.Queue = (*Store)(nil)

// Enqueue makes a thread due after a time.
func (s *Store) Enqueue(ctx context.Context, thread string, after time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if thread == "" {
		return errors.New("enqueue: the thread's id is empty")
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	due := s.now().Add(max(after, 0)).UnixMicro()
	e := q.entries[thread]
	if e == nil {
		e = &queued{thread: thread}
		q.entries[thread] = e
	}
	q.put(e, due, false)
	if after <= 0 {
		q.ring()
	}
	return nil
}

// Claim hands out threads that are due.
func (s *Store) Claim(ctx context.Context, n int, turn time.Duration) (claims []state.Claim, next time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if err := checkTurn(turn); err != nil {
		return nil, 0, err
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	now := s.now()
	at := now.UnixMicro()
	for len(claims) < n {
		e := q.next(at)
		if e == nil {
			break
		}
		q.give(e, now.Add(turn).UnixMicro())
		claims = append(claims, state.Claim{Thread: e.thread, Until: e.turn})
	}
	if next = q.until(at); next != 0 {
		q.hush()
	}
	return claims, next, nil
}

// checkTurn refuses a turn that would be over before it begins.
func checkTurn(turn time.Duration) error {
	if turn < time.Millisecond {
		return fmt.Errorf("claim: a turn of %s: it must be at least 1ms", turn)
	}
	return nil
}

// Extend lengthens turns that are not over.
func (s *Store) Extend(ctx context.Context, claims []state.Claim, turn time.Duration) ([]state.Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkTurn(turn); err != nil {
		return nil, err
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	now := s.now()
	var kept []state.Claim
	for _, c := range claims {
		e := q.claimed(c)
		if e == nil || e.turn <= now.UnixMicro() {
			continue
		}
		q.give(e, now.Add(turn).UnixMicro())
		kept = append(kept, state.Claim{Thread: c.Thread, Until: e.turn})
	}
	return kept, nil
}

// Done takes a thread out of the queue, unless it was moved.
func (s *Store) Done(ctx context.Context, c state.Claim) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.claimed(c); e != nil {
		q.leave(e)
		delete(q.entries, c.Thread)
	}
	return nil
}

// Defer makes a claimed thread due again after a time, unless it was moved.
func (s *Store) Defer(ctx context.Context, c state.Claim, after time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.claimed(c)
	if e == nil {
		return nil
	}
	q.put(e, s.now().Add(max(after, 0)).UnixMicro(), true)
	if after <= 0 {
		q.ring()
	}
	return nil
}

// WaitQueued returns once a thread may be due.
func (s *Store) WaitQueued(ctx context.Context, most time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.queue.bell:
		if err := ctx.Err(); err != nil {
			s.queue.ring() // for somebody else: this one has left
			return err
		}
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// QueueLen counts the threads that are due, and the others.
func (s *Store) QueueLen(ctx context.Context) (due, later int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	now := s.now().UnixMicro()
	for _, e := range q.entries {
		if e.due <= now {
			due++
		}
	}
	return due, len(q.entries) - due, nil
}
