package consul

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// follower asks one question of Consul again and again: each time it waits for
// the answer to change. It runs on one goroutine, which alone takes the answers
// in, so that none overtakes another.
type follower struct {
	reader   *reader
	question question
	take     func(ctx context.Context, a answer) error // with a body; *doubt: asked again soon
	settle   func(err error)                           // told how each round ended
	back     func()                                    // told when the index went back
	over     func() bool                               // nothing is left to follow; nil: never
	wait     func() time.Duration                      // for a change
	places   chan struct{}                             // taken while it waits for a change; nil: needs none
	fresh    chan struct{}                             // likewise, for an answer at once
	cap      time.Duration                             // of the time between tries
	rand     *rand.Rand

	last    uint64 // index of the last answer; 0: none
	behind  bool   // something was missed: ask for an answer at once
	doubted error  // why the last answer is not believed; nil: it is
	// The last index of either source of answers: that of a stream may be lower
	// where nothing was lost.
	stored, streamed uint64
	pace             pacing

	mu     sync.Mutex
	looks  []chan<- error // who waits for a fresh look
	cancel context.CancelFunc
	ended  bool
	woken  chan struct{} // holds one token where the follower should not wait
}

// doubt is an answer that says less than was known, and is not believed.
type doubt struct{ text string }

func (d *doubt) Error() string { return d.text }

// run follows until ctx ends or nothing is left to follow.
func (f *follower) run(ctx context.Context) {
	defer f.leave(ctx)
	failures := 0
	for ctx.Err() == nil && !f.finished() {
		looks := f.claim()
		fresh := len(looks) > 0
		err := f.round(ctx, fresh)
		interrupted := errors.Is(err, context.Canceled) // somebody wants a fresh look, or it is over
		if !interrupted {
			f.settle(err)
		}
		for _, l := range looks {
			l <- err
		}
		if interrupted {
			continue
		}
		_, doubted := errors.AsType[*doubt](err)
		if err == nil || doubted {
			failures = 0
			f.rest(ctx, f.pace.next(time.Now(), pace))
			continue
		}
		failures++
		f.rest(ctx, f.backoff(failures))
	}
}

// round asks once. A fresh look is not waited for and comes from the leader.
func (f *follower) round(ctx context.Context, fresh bool) error {
	q := f.question
	q.index, q.wait, q.consistent = f.last, f.wait(), fresh
	if fresh || f.behind {
		q.index = 0
	}
	ask, cancel := context.WithCancel(ctx)
	defer cancel()
	if !fresh && !f.interruptible(cancel) {
		return context.Canceled
	}
	places := f.places
	if fresh { // somebody waits, and must not stand in line with what waits for changes
		places = f.fresh
	}
	if places != nil {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ask.Done():
			return context.Canceled
		}
	}
	a, err := f.reader.ask(ask, q)
	if err != nil {
		f.behind = f.behind || !errors.Is(err, context.Canceled)
		return err
	}
	f.behind = false
	last := &f.stored
	if a.stream {
		last = &f.streamed
	}
	if a.index < *last {
		f.back()
		f.behind = true // as Consul advises: begin anew
	}
	f.last, *last = a.index, a.index
	if a.body == nil { // nothing changed
		f.behind = f.doubted != nil // what is not believed is read anew
		return f.doubted
	}
	err = f.take(ctx, a)
	f.doubted = nil
	if _, doubted := errors.AsType[*doubt](err); doubted {
		f.doubted = err
	} else if err != nil {
		f.behind = true // the answer was not taken in
	}
	return err
}

// interruptible lets others break the question off; it reports false where
// somebody did already.
func (f *follower) interruptible(cancel context.CancelFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel = cancel
	return len(f.looks) == 0 && len(f.woken) == 0
}

// look has the follower ask at once. The channel gets how it ended.
func (f *follower) look() <-chan error {
	done := make(chan error, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		done <- nil
		return done
	}
	f.looks = append(f.looks, done)
	f.wakeLocked()
	return done
}

// wake ends whatever the follower waits for.
func (f *follower) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakeLocked()
}

func (f *follower) wakeLocked() {
	if f.cancel != nil {
		f.cancel()
	}
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// claim takes over who waits for a fresh look.
func (f *follower) claim() []chan<- error {
	f.mu.Lock()
	defer f.mu.Unlock()
	looks := f.looks
	f.looks, f.cancel = nil, nil
	select {
	case <-f.woken:
	default:
	}
	return looks
}

func (f *follower) finished() bool { return f.over != nil && f.over() }

func (f *follower) leave(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for _, l := range f.looks {
		l <- ctx.Err() // nil where the service is gone, which is an answer
	}
	f.looks = nil
}

// rest waits, or until somebody wakes the follower.
func (f *follower) rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.woken:
	case <-ctx.Done():
	}
}

// backoff is the time before another try: doubling up to the cap, and between
// half and all of that, so that workers do not come back at once together.
func (f *follower) backoff(failures int) time.Duration {
	span := f.cap
	if failures < 10 {
		span = min(backoffFirst<<(failures-1), f.cap)
	}
	return span/2 + time.Duration(f.rand.Int64N(int64(span/2)))
}

// pacing spaces out what comes one after another: after a burst, one each pace.
type pacing struct {
	tokens float64
	at     time.Time
}

// next is how long to wait before the next question.
func (p *pacing) next(now time.Time, pace time.Duration) time.Duration {
	if p.at.IsZero() {
		p.tokens = burst
	} else {
		p.tokens = min(burst, p.tokens+now.Sub(p.at).Seconds()/pace.Seconds())
	}
	p.at = now
	p.tokens--
	if p.tokens >= 0 {
		return 0
	}
	return time.Duration(-p.tokens * float64(pace))
}
