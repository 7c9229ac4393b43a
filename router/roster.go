package router

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// roster remembers what the servers said in their handshakes. Each server has
// at most one handshake under way, on a goroutine of its own and with its own
// time limit, so a server that hangs holds up no hop for longer than the grace.
// The lock is never held across I/O.
type roster struct {
	caller    Caller
	handshake time.Duration // limit of one
	grace     time.Duration
	trust     func(*Server) bool
	heldBack  func(server, tool string) // is told of tools that are held back

	life context.Context // of the router
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	held    time.Time // when newcomers last began to hold hops up
	by      map[string]*contact
	changed chan struct{} // closed and replaced whenever a handshake ends
	edition atomic.Uint64 // rises when something else is known, or is doubted
}

// contact is where the roster stands with one server.
type contact struct {
	server *Server
	last   *known    // nil: none yet
	at     time.Time // of last
	stale  bool      // ask again before believing last
	doubts bool      // last was wrong: wait for what the handshake under way brings
	began  time.Time // of the handshake under way; zero: none

	reported *known // the last one whose tools that are held back were reported
}

// rosterFresh is how long an answer is believed before the caller is asked
// again. The caller keeps descriptions itself: asking is cheap.
const rosterFresh = time.Second

func newRoster(c Caller, o Options) *roster {
	r := &roster{
		caller: c, handshake: o.Handshake, grace: o.Grace, trust: o.Trust,
		heldBack: func(string, string) {}, by: make(map[string]*contact), changed: make(chan struct{}),
	}
	if watching, ok := o.Observer.(ServerObserver); ok {
		r.heldBack = watching.OnHeldBack
	}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

func (r *roster) close() {
	r.mu.Lock() // so that no handshake begins after the wait did
	r.end()
	r.mu.Unlock()
	r.wg.Wait()
}

// sighting is what the roster knows at one moment.
type sighting struct {
	all     []*known
	edition uint64
	until   time.Time // nobody need be asked before; zero: the look was cut short
}

// gather returns what is known of the servers, in their order. It asks those of
// whom nothing fresh is known, all at once, and waits until each has answered;
// once enough says that one of them will do, no longer than the grace, for those
// that are new or in doubt alone, and never longer than patience. A server that is not known yet has an error that says so.
func (r *roster) gather(ctx context.Context, servers []*Server, enough func(*known) bool, patience time.Duration) sighting {
	begun := time.Now()
	for {
		seen, waitFor, changed := r.look(servers, enough, begun)
		if waitFor <= 0 {
			return seen
		}
		left := patience - time.Since(begun)
		if left <= 0 {
			return r.glance(servers, seen)
		}
		t := time.NewTimer(min(waitFor, left))
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return r.glance(servers, seen)
		}
		t.Stop()
	}
}

// look is one round of gather; waitFor is how long another answer is worth
// waiting for.
func (r *roster) look(servers []*Server, enough func(*known) bool, begun time.Time) (seen sighting, waitFor time.Duration, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	all := make([]*known, len(servers))
	until := now.Add(rosterFresh)
	var pending []*contact
	for i, s := range servers {
		c := r.contact(s)
		if c.began.IsZero() && (c.stale || c.last == nil || c.at.Before(begun.Add(-rosterFresh))) {
			r.ask(c, now)
		}
		if c.stale {
			until = now // it is to be asked once its handshake under way has ended
		}
		if !c.began.IsZero() {
			pending = append(pending, c)
		} else if fresh := c.at.Add(rosterFresh); fresh.Before(until) {
			until = fresh
		}
		all[i] = c.known(now)
	}
	done := len(pending) > 0 && slices.ContainsFunc(all, enough)
	for _, c := range pending {
		if done {
			waitFor = max(waitFor, r.indulge(c, now))
			continue
		}
		waitFor = max(waitFor, r.handshake+r.grace-now.Sub(c.began)) // the handshake ends itself before
	}
	return sighting{all, r.edition.Load(), until}, waitFor, r.changed
}

// heldEvery is how seldom newcomers may hold up hops, in graces: one that hangs and
// is registered anew all the time must not slow calls to others for longer than a
// twentieth of it.
const heldEvery = 20

// indulge is how long a hop that has a server waits for another one's handshake
// besides. r.mu is held.
func (r *roster) indulge(c *contact, now time.Time) time.Duration {
	left := r.grace - now.Sub(c.began)
	switch {
	case c.doubts:
		return left
	case c.last != nil: // it is used as it was known, or once it is back
		return 0
	case now.Sub(r.held) >= heldEvery*r.grace:
		r.held = now
	}
	return min(left, r.grace-now.Sub(r.held))
}

// glance is the end of a gather that was cut short: what is known by now.
func (r *roster) glance(servers []*Server, seen sighting) sighting {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for i, s := range servers {
		seen.all[i] = r.contact(s).known(now)
	}
	seen.until = time.Time{}
	return seen
}

// contact returns the server's, a new one when its registration changed. What a
// server said of itself holds while it is reached in the same way: hops that are
// bound to it must not miss it because its weight changed. r.mu is held.
func (r *roster) contact(s *Server) *contact {
	c := r.by[s.ID]
	if c != nil && c.server == s {
		return c
	}
	next := &contact{server: s}
	if c != nil && c.last != nil && c.last.err == nil && reflect.DeepEqual(c.server.Dial, s.Dial) {
		next.last, next.at = newKnown(s, c.last.description, nil, r.trust(s)), c.at
		next.stale, next.doubts = c.stale, c.doubts
	}
	if c != nil {
		next.reported = c.reported
	}
	r.by[s.ID] = next
	r.edition.Add(1)
	return next
}

// ask begins a handshake. r.mu is held.
func (r *roster) ask(c *contact, now time.Time) {
	if r.life.Err() != nil {
		r.learn(c, newKnown(c.server, nil, fmt.Errorf("the router is closed"), false), now)
		return
	}
	c.began, c.stale = now, false
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(r.life, r.handshake)
		defer cancel()
		d, err := r.caller.Describe(ctx, c.server)
		if err == nil && d == nil {
			err = fmt.Errorf("server %s was described by nothing", c.server.ID)
		}
		r.mu.Lock()
		last := c.last
		r.mu.Unlock()
		k, trusted := last, r.trust(c.server)
		// The same description leads to the same offers.
		if err != nil || last == nil || last.description != d || last.trusted != trusted {
			k = newKnown(c.server, d, err, trusted)
		}
		r.mu.Lock()
		c.began = time.Time{}
		r.learn(c, k, time.Now())
		news := c.heldNews(k)
		close(r.changed)
		r.changed = make(chan struct{})
		r.mu.Unlock()
		for _, tool := range news {
			r.heldBack(c.server.ID, tool)
		}
	})
}

// learn takes in what a handshake brought. r.mu is held.
func (r *roster) learn(c *contact, k *known, at time.Time) {
	if c.last != k {
		r.edition.Add(1)
	}
	c.last, c.at, c.doubts = k, at, false
}

// known is what is believed now: the last answer, even while another is awaited.
func (c *contact) known(now time.Time) *known {
	if c.last != nil {
		return c.last
	}
	waited := now.Sub(c.began).Round(time.Millisecond)
	return &known{server: c.server, offers: c.server.Offers,
		err: fmt.Errorf("its handshake is still under way after %s", waited)}
}

// doubt makes the next hop ask the server again.
func (r *roster) doubt(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.by[server]; c != nil {
		c.stale, c.doubts = true, true
		r.edition.Add(1)
	}
}

// doubtErrors makes the next hop ask again every server that could not be
// reached.
func (r *roster) doubtErrors() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.by {
		if c.last != nil && c.last.err != nil {
			c.stale = true
			r.edition.Add(1)
		}
	}
}

// met returns what is known of the servers, in their order, without waiting: nil for one
// that nobody has an answer of yet. Where greet says so, those that nobody has asked are.
func (r *roster) met(servers []*Server, greet bool) []*known {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*known, len(servers))
	for i, s := range servers {
		if r.by[s.ID] == nil && !greet {
			continue
		}
		c := r.contact(s)
		if greet && c.last == nil && c.began.IsZero() {
			r.ask(c, time.Now())
		}
		all[i] = c.last
	}
	return all
}

// keep forgets the servers that are not among those given, and returns their ids.
func (r *roster) keep(known func(id string) bool) (left []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.by {
		if !known(id) {
			delete(r.by, id)
			r.edition.Add(1)
			left = append(left, id)
		}
	}
	return left
}
