package router

import (
	"sync"
	"time"

	"junction/state"
	"junction/state/value"
)

// asking is what of a call decides who can do it; calls that ask alike share a
// pool.
type asking struct {
	capability, server, tool string
	effect                   state.Effect
	need, prefer             string // as canonical JSON
}

// asking identifies what c asks for. It is zero where needs or preferences
// have no JSON form: such a call has a pool of its own.
func (s *pools) asking(c *state.Call) asking {
	need, ok := s.text(c.Need)
	prefer, also := s.text(c.Prefer)
	if !ok || !also {
		return asking{}
	}
	return asking{c.Capability, c.Server, c.Tool, c.Effect, need, prefer}
}

// text is what attributes are told by: the copy at hand where there is a pool for
// such a call.
func (s *pools) text(attributes map[string]any) (text string, ok bool) {
	if len(attributes) == 0 {
		return "", true
	}
	draft := drafts.Get().(*[]byte)
	defer drafts.Put(draft)
	canonical, err := value.Append((*draft)[:0], attributes)
	if err != nil {
		return "", false
	}
	if cap(canonical) <= longestDraft {
		*draft = canonical
	}
	s.mu.RLock()
	text, known := s.texts[string(canonical)]
	s.mu.RUnlock()
	if !known {
		text = string(canonical)
	}
	return text, true
}

// pools keeps the pool of each kind of call for as long as the servers and what
// is known of them stay the same. Sorting a hundred servers for every hop cost
// more than the rest of the hop.
type pools struct {
	mu    sync.RWMutex
	by    map[asking]*kept
	texts map[string]string // needs and preferences of these
}

// kept is a pool with what it was made from.
type kept struct {
	pool     *pool
	snapshot *Snapshot
	edition  uint64    // of the roster
	until    time.Time // when a server has to be asked again
}

// poolsKept bounds how many kinds of calls are remembered: needs may come from
// a workflow's data.
const poolsKept = 256

// current returns the pool that still stands, or nil.
func (s *pools) current(a asking, now *Snapshot, edition uint64, at time.Time) *pool {
	s.mu.RLock()
	k := s.by[a]
	s.mu.RUnlock()
	if k == nil || k.snapshot != now || k.edition != edition || !at.Before(k.until) {
		return nil
	}
	return k.pool
}

// renew returns the pool for what was just seen: the one at hand where the
// servers only said the same again, else what build makes of it. A look that
// was cut short is not kept.
func (s *pools) renew(a asking, snapshot *Snapshot, seen sighting, build func() *pool) *pool {
	s.mu.RLock()
	k := s.by[a]
	s.mu.RUnlock()
	next := &kept{snapshot: snapshot, edition: seen.edition, until: seen.until}
	if k != nil && k.snapshot == snapshot && k.edition == seen.edition {
		next.pool = k.pool
	} else {
		next.pool = build()
	}
	if a == (asking{}) || seen.until.IsZero() {
		return next.pool
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || k == nil && len(s.by) >= poolsKept {
		s.by, s.texts = make(map[asking]*kept), make(map[string]string)
	}
	s.by[a] = next
	s.texts[a.need], s.texts[a.prefer] = a.need, a.prefer
	return next.pool
}
