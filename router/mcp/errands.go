package mcp

import "sync"

// errands are goroutines of a connection beside its callers'. None begins once they
// are waited for: the connection is stopped then, and nothing could come of one.
type errands struct {
	mu      sync.Mutex
	over    bool
	running sync.WaitGroup
}

// Go runs f, unless it is too late.
func (e *errands) Go(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over {
		e.running.Go(f)
	}
}

// Wait lets none begin any more, and returns when all have ended.
func (e *errands) Wait() {
	e.mu.Lock()
	e.over = true
	e.mu.Unlock()
	e.running.Wait()
}
