package redis

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var _ state.CancelNotifier = (*Store)(nil)

// quiet is how long a subscription may say nothing before it is asked whether
// it still stands: longer than the network takes to lose a peer unseen.
const quiet = 15 * time.Second

// cancels hands out notices of cancel requests. One subscription serves the whole
// store; it begins with the first who wants to know and ends with the last. The
// zero value is ready.
type cancels struct {
	mu      sync.Mutex
	closed  bool
	waiting map[string]map[chan struct{}]bool // by thread
	stop    context.CancelFunc                // ends the subscription; nil: there is none
	ended   chan struct{}                     // closed once it has
}

// NotifyCancel implements [state.CancelNotifier]. Whenever a subscription begins
// to stand everybody gets a notice, for what was announced before it did. Notices
// are lost while it is cut off and nobody knows, and all after Close.
func (s *Store) NotifyCancel(thread string) (asked <-chan struct{}, stop func()) {
	c := &s.cancels
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ch, func() {}
	}
	if c.waiting == nil {
		c.waiting = map[string]map[chan struct{}]bool{}
	}
	if c.waiting[thread] == nil {
		c.waiting[thread] = map[chan struct{}]bool{}
	}
	c.waiting[thread][ch] = true
	if c.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		before, ended := c.ended, make(chan struct{})
		c.stop, c.ended = cancel, ended
		go func() {
			defer close(ended)
			if before != nil {
				<-before // so that Close waits for all by waiting for the last
			}
			s.listen(ctx)
		}()
	}
	return ch, sync.OnceFunc(func() { c.leave(thread, ch) })
}

// leave ends one notification, and the subscription with the last one.
func (c *cancels) leave(thread string, ch chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting[thread], ch)
	if len(c.waiting[thread]) == 0 {
		delete(c.waiting, thread)
	}
	if len(c.waiting) == 0 && c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// close ends the subscription and waits until it has.
func (c *cancels) close() {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	ended := c.ended
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// tell passes a notice on. A channel that still holds one needs no second.
func (c *cancels) tell(thread string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.waiting[thread] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// tellAll has everybody look.
func (c *cancels) tellAll() {
	c.mu.Lock()
	threads := slices.Collect(maps.Keys(c.waiting))
	c.mu.Unlock()
	for _, thread := range threads {
		c.tell(thread)
	}
}

// listen keeps a subscription until ctx ends, and makes a new one when it fails.
func (s *Store) listen(ctx context.Context) {
	out := false // an outage is reported once
	for attempt := 1; ; attempt++ {
		err := s.subscription(ctx, func() {
			if out {
				s.o.Log.Info("notices of cancel requests arrive again", "address", s.address)
			}
			attempt, out = 0, false
		})
		if ctx.Err() != nil {
			return
		}
		if !out {
			out = true
			s.o.Log.Warn("notices of cancel requests do not arrive: threads notice them when their lease is renewed",
				"address", s.address, "error", fit(err), "advice", advice(err))
		}
		timer := time.NewTimer(s.tries.wait(attempt + 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// subscription subscribes and passes notices on until it fails or ctx ends.
func (s *Store) subscription(ctx context.Context, stands func()) error {
	sub := s.client.Subscribe(ctx) // connects with the first channel
	defer sub.Close()
	within := func(timeout time.Duration, do func(ctx context.Context) error) error {
		each, land := s.fly(ctx, timeout)
		defer land()
		return do(each)
	}
	err := within(s.o.Timeout, func(ctx context.Context) error { return sub.Subscribe(ctx, s.cancelChannel()) })
	if err != nil {
		return err
	}
	asked := false // whether it still stands
	for {
		var message any
		err := within(quiet, func(ctx context.Context) (err error) {
			message, err = sub.ReceiveTimeout(ctx, 2*quiet) // the context ends before
			return err
		})
		switch m := message.(type) {
		case *goredis.Subscription:
			stands()
			s.cancels.tellAll()
		case *goredis.Message:
			s.cancels.tell(m.Payload)
		}
		switch {
		case err == nil:
			asked = false
		case asked || !timedOut(err):
			return err
		default:
			asked = true
			if err := within(s.o.Timeout, func(ctx context.Context) error { return sub.Ping(ctx) }); err != nil {
				return err
			}
		}
	}
}
