package ledger

import (
	"context"
	"sync"
)

// flights lets one call of this process at a time work on a key, so that the
// others wait without asking the store again and again.
type flights struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by key; closed when its call ends
}

// enter waits until nobody of this process works on the key, or ctx has ended.
func (f *flights) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		f.mu.Lock()
		busy, taken := f.open[key]
		if !taken {
			done := make(chan struct{})
			if f.open == nil {
				f.open = make(map[string]chan struct{})
			}
			f.open[key] = done
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				delete(f.open, key)
				close(done)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
