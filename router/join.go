package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Join makes one discovery of several, the first of which has the last word: of
// a server that two of them know by the same ID, or of a capability that two
// hold to a contract, the earlier one's is used. What it shows is stale while
// any of them is. A Snapshot takes no lock while none of theirs has changed, and
// is then the same one.
//
// Refresh looks again in all of them at once, each within ctx; its errors are
// joined, and each says which source it is of: its String where it has one, else
// its place. A single source is returned as it is.
func Join(ds ...Discovery) Discovery {
	if len(ds) == 1 {
		return ds[0]
	}
	return &joined{sources: slices.Clone(ds)}
}

// joined merges its sources' snapshots whenever one of them is another. mu is
// held while they are merged, so that versions rise in the order in which they
// are shown.
type joined struct {
	sources []Discovery
	shown   atomic.Pointer[merged]
	mu      sync.Mutex
}

// merged is a snapshot with those it was made from. It is never changed.
type merged struct {
	from     []*Snapshot
	snapshot *Snapshot
}

// Snapshot returns what the sources show together.
func (j *joined) Snapshot() *Snapshot {
	if m := j.shown.Load(); m.isOf(j.sources) {
		return m.snapshot
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.shown.Load()
	if last.isOf(j.sources) {
		return last.snapshot
	}
	next := merge(j.sources)
	next.snapshot.Version = 1
	if last != nil {
		next.snapshot.Version = last.snapshot.Version + 1
	}
	j.shown.Store(next)
	return next.snapshot
}

// isOf reports whether m was made from what the sources show now.
func (m *merged) isOf(sources []Discovery) bool {
	if m == nil {
		return false
	}
	for i, d := range sources {
		if m.from[i] != d.Snapshot() {
			return false
		}
	}
	return true
}

// merge reads each source once.
func merge(sources []Discovery) *merged {
	m := &merged{snapshot: &Snapshot{Contracts: map[string]Contract{}}}
	known := map[string]bool{}
	for _, d := range sources {
		s := d.Snapshot()
		m.from = append(m.from, s)
		m.snapshot.Stale = m.snapshot.Stale || s.Stale
		for _, server := range s.Servers {
			if !known[server.ID] {
				known[server.ID] = true
				m.snapshot.Servers = append(m.snapshot.Servers, server)
			}
		}
		for capability, contract := range s.Contracts {
			if _, earlier := m.snapshot.Contracts[capability]; !earlier {
				m.snapshot.Contracts[capability] = contract
			}
		}
	}
	slices.SortFunc(m.snapshot.Servers, func(a, b *Server) int { return cmp.Compare(a.ID, b.ID) })
	return m
}

// Refresh looks again in every source at once. A source that fails or hangs
// until ctx ends keeps no other from showing what it found.
func (j *joined) Refresh(ctx context.Context) error {
	failed := make([]error, len(j.sources))
	var wg sync.WaitGroup
	for i, d := range j.sources {
		wg.Go(func() {
			if err := d.Refresh(ctx); err != nil {
				failed[i] = fmt.Errorf("look again in %s: %w", sourceName(d, i), err)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

func sourceName(d Discovery, i int) string {
	if named, ok := d.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("source %d of servers", i+1)
}
