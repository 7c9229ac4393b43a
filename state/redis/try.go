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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rand == nil {
		var seed [16]byte
		crand.Read(seed[:]) // never fails
		t.rand = rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
	}
	return time.Duration(t.rand.Int64N(int64(bound)))
}

// try runs an operation that may run twice until it succeeds, must not be tried
// again, Options.Retry is over (then the error is state.ErrUnavailable and the
// cause) or ctx has ended (then it is ctx's). Each try has Options.Timeout.
//
// The client does not look at a context that is cancelled while it reads, so do
// may still run when try returns because ctx has ended: what it set may be read
// only when try returned nil.
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
		if ctx.Err() != nil {
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

// once runs one try. A caller whose ctx ends is not kept waiting by a server
// that does not answer; the try then ends by itself, within its time.
func (s *Store) once(ctx context.Context, attempt int, do func(ctx context.Context, attempt int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.tries.begin() {
		return os.ErrClosed
	}
	each, cancel := context.WithTimeout(ctx, s.o.Timeout)
	if ctx.Done() == nil {
		defer s.tries.end()
		defer cancel()
		return do(each, attempt)
	}
	result := make(chan error, 1)
	go func() {
		defer s.tries.end()
		defer cancel()
		result <- do(each, attempt)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-result: // both at once: the answer is worth more
		return err
	default:
		return ctx.Err()
	}
}
