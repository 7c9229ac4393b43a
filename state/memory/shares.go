package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"junction/state"
)

var _ state.ShareStore = (*Store)(nil)

// shares are what the workers of this process know of servers, by worker.
type shares struct {
	mu sync.Mutex
	by map[string]sharer

	next int // where the next sample of a large fleet begins
}

type sharer struct {
	at, until time.Time
	shares    []state.Share
}

// Exchange implements [state.ShareStore].
func (s *Store) Exchange(ctx context.Context, worker string, own []state.Share, keep time.Duration) ([]state.Shared, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := state.CheckShares(worker, own, keep); err != nil {
		return nil, err
	}
	now := s.now()
	s.shares.mu.Lock()
	defer s.shares.mu.Unlock()
	maps.DeleteFunc(s.shares.by, func(_ string, e sharer) bool { return !now.Before(e.until) })
	if s.shares.by == nil {
		s.shares.by = make(map[string]sharer)
	}
	s.shares.by[worker] = sharer{at: now, until: now.Add(keep), shares: slices.Clone(own)}
	others := len(s.shares.by) - 1
	var all []state.Shared
	for name, e := range s.shares.by {
		if name != worker {
			age := max(now.Sub(e.at), 0)
			all = append(all, state.Shared{Worker: name, Age: age, Others: others, Shares: slices.Clone(e.shares)})
		}
	}
	byWorker := func(a, b state.Shared) int { return cmp.Compare(a.Worker, b.Worker) }
	slices.SortFunc(all, byWorker)
	if n := len(all); n > state.MostSharers {
		from := s.shares.next % n
		s.shares.next = from + state.MostSharers
		all = slices.Concat(all, all)[from:s.shares.next]
		slices.SortFunc(all, byWorker)
	}
	return all, nil
}
