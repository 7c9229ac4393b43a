package mcp

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Stray is the kind of a message that belongs to no request under way. Such a
// message is counted and dropped.
type Stray string

const (
	LateAnswer      Stray = "late_answer"      // its request was cancelled, timed out, or failed
	DuplicateAnswer Stray = "duplicate_answer" // its request had an answer
	WrongID         Stray = "wrong_id"         // an answer to nothing that was asked, or to what ended long ago
	LateProgress    Stray = "late_progress"    // its request had ended
	UnknownToken    Stray = "unknown_token"    // progress, or word of a subscription, of nothing that was asked
	FallingProgress Stray = "falling_progress" // it did not rise
	noStray         Stray = ""
)

var kinds = [...]Stray{LateAnswer, DuplicateAnswer, WrongID, LateProgress, UnknownToken, FallingProgress}

// StrayKinds lists the kinds there are.
func StrayKinds() []Stray { return slices.Clone(kinds[:]) }

// tally counts a server's stray messages by kind. It outlives connections.
type tally struct {
	server string
	tell   func(server string, kind Stray)
	counts [len(kinds)]atomic.Uint64
}

func (t *tally) add(kind Stray) {
	for i, k := range kinds {
		if k == kind {
			t.counts[i].Add(1)
		}
	}
	t.tell(t.server, kind)
}

// Strays counts by kind what a server sent that belonged to no request under way,
// over all connections to it since the client was made or the server forgotten.
// Kinds that never occurred are left out.
func (c *Client) Strays(server string) map[Stray]uint64 {
	counts := map[Stray]uint64{}
	c.mu.RLock()
	t := c.tallies[server]
	c.mu.RUnlock()
	if t == nil {
		return counts
	}
	for i, kind := range kinds {
		if n := t.counts[i].Load(); n > 0 {
			counts[kind] = n
		}
	}
	return counts
}

// remembered is how many ended requests a connection can still tell apart.
const remembered = 128

// requests are those of one connection: the ones under way, and how the last ones
// ended, so that a late answer is told from a second one and from a made-up one.
type requests struct {
	tally *tally

	mu    sync.Mutex
	byID  map[int64]request
	ended [remembered]int64
	next  int // place in ended
}

// request is one entry: under way while flight is set, else how it ended.
type request struct {
	flight *flight
	reply  chan answer // stdio's
	as     phase
}

func newRequests(t *tally) *requests {
	return &requests{tally: t, byID: map[int64]request{}}
}

// add enters a request before it can leave.
func (r *requests) add(id int64, f *flight, reply chan answer) {
	r.mu.Lock()
	r.byID[id] = request{flight: f, reply: reply}
	r.mu.Unlock()
}

// end keeps of a request how it ended, and forgets the one that ended so many ago.
func (r *requests) end(id int64, as phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.ended[r.next]; r.byID[old].flight == nil { // one that went on ends again
		delete(r.byID, old)
	}
	r.byID[id] = request{as: as}
	r.ended[r.next] = id
	r.next = (r.next + 1) % remembered
}

// remembers reports whether a request has ended not long ago.
func (r *requests) remembers(id int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, known := r.byID[id]
	return known && q.flight == nil
}

// answered takes an answer in: to whom it goes; nil: to nobody, which is counted.
func (r *requests) answered(id int64) chan answer {
	r.mu.Lock()
	q, known := r.byID[id]
	if known && q.flight == nil {
		r.byID[id] = request{as: completed} // the next one is its second
	}
	r.mu.Unlock()
	kind := WrongID
	switch {
	case q.flight != nil:
		kind = q.flight.answered(id)
	case known && q.as == completed:
		kind = DuplicateAnswer
	case known:
		kind = LateAnswer
	}
	if kind != noStray {
		r.tally.add(kind)
		return nil
	}
	return q.reply
}

// progress takes a report in; mask takes what is secret out of its message.
func (r *requests) progress(token int64, u update, mask func(string) string) {
	r.mu.Lock()
	q, known := r.byID[token]
	r.mu.Unlock()
	kind := UnknownToken
	switch {
	case q.flight != nil:
		u.message = mask(excerpt(u.message))
		kind = q.flight.report(token, u)
	case known:
		kind = LateProgress
	}
	if kind != noStray {
		r.tally.add(kind)
	}
}
