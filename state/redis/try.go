package redis

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// Bounds of the wait between two tries, which doubles and is drawn from
// [0, bound): callers that failed together do not come back together.
const (
	firstWait = 20 * time.Millisecond
	mostWait  = time.Second
)

// tries is what the operations of a store share: the draw of their waits, and
// the count of those under way.
type tries struct {
	mu      sync.Mutex
	rand    *rand.Rand
	flying  int
	closed  bool
	settled chan struct{} // closed when none is under way after close
	flights *flights      // of the client; nil where its connections are not watched
}

// begin counts a try, unless the store is closed.
func (t *tries) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.flying++
	return true
}

func (t *tries) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flying--
	if t.closed && t.flying == 0 {
		close(t.settled)
	}
}

// close refuses further tries; the channel it returns is closed once none is
// under way. first is false when somebody did so before.
func (t *tries) close() (settled <-chan struct{}, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return t.settled, false
	}
	t.closed, t.settled = true, make(chan struct{})
	if t.flying == 0 {
		close(t.settled)
	}
	return t.settled, true
}

// wait draws how long to wait after the attempt-th try (from 1).
func (t *tries) wait(attempt int) time.Duration {
	bound := min(firstWait<<min(attempt-1, 10), mostWait)
	return time.Duration(t.draw() * float64(bound))
}

// draw returns a number in [0, 1).
func (t *tries) draw() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rand == nil {
		var seed [16]byte
		crand.Read(seed[:]) // never fails
		t.rand = rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
	}
	return t.rand.Float64()
}

// try runs an operation that may run twice until it succeeds, must not be tried
// again, Options.Retry is over (then the error is state.ErrUnavailable and the
// cause) or ctx has ended (then it is ctx's). Each try has Options.Timeout. do
// returns the client's errors as they are.
func (s *Store) try(ctx context.Context, what string, do func(ctx context.Context, attempt int) error) error {
	return s.tryWhile(ctx, what, s.o.Retry, retryable, do)
}

// tryWhile is try with its own judgement of errors and its own bound.
func (s *Store) tryWhile(ctx context.Context, what string, retry time.Duration, again func(error) bool,
	do func(ctx context.Context, attempt int) error,
) error {
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.once(ctx, attempt, do)
		if err == nil {
			return nil
		}
		if answered(err) && !again(err) {
			return s.refused(what, err) // also when ctx has ended since: it is the answer
		}
		if over(ctx) {
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
		if !again(err) {
			return s.refused(what, err)
		}
		wait := s.tries.wait(attempt)
		if time.Since(begun)+wait > retry {
			return s.unavailable(what, err, attempt, time.Since(begun))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
}

// over says whether ctx has ended. A connection notices a deadline that both have
// a moment before the context does.
func over(ctx context.Context) bool {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// once runs one try, which ends when ctx does.
func (s *Store) once(ctx context.Context, attempt int, do func(ctx context.Context, attempt int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.tries.begin() {
		return os.ErrClosed
	}
	defer s.tries.end()
	each, land := s.fly(ctx, s.o.Timeout)
	defer land()
	return do(each, attempt)
}

// fly gives a call a deadline, at which or with ctx it ends. On a client whose
// connections are not watched a cancel is seen only at the deadline.
func (s *Store) fly(ctx context.Context, timeout time.Duration) (each context.Context, land func()) {
	if s.tries.flights == nil {
		return context.WithTimeout(ctx, timeout)
	}
	return s.tries.flights.fly(ctx, timeout)
}
