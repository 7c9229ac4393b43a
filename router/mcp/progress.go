package mcp

import "sync"

// update is one progress report.
type update struct {
	progress, total float64
	message         string
}

// progress follows one call's reports. They arrive in a connection's reader,
// which must never wait, so the caller's function runs elsewhere; reports that
// come while it runs become one, the newest.
type progress struct {
	clocks *clocks
	tell   func(progress, total float64, message string) // nil: nobody asked

	mu     sync.Mutex
	begun  bool
	last   float64
	latest update
	wake   chan struct{} // holds one token while latest is untold
	done   chan struct{}
	told   sync.WaitGroup
}

func newProgress(k *clocks, tell func(float64, float64, string)) *progress {
	p := &progress{clocks: k, tell: tell}
	if tell != nil {
		p.wake, p.done = make(chan struct{}, 1), make(chan struct{})
		p.told.Go(p.relay)
	}
	return p
}

// report takes a report in. One that does not rise, or comes after the call's
// end, is no progress: it neither sets the clock back nor is told.
func (p *progress) report(u update) {
	p.mu.Lock()
	if p.clocks.ctx.Err() != nil || p.begun && !(u.progress > p.last) {
		p.mu.Unlock()
		return
	}
	p.begun, p.last, p.latest = true, u.progress, u
	p.mu.Unlock()
	p.clocks.rewind()
	if p.tell != nil {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

func (p *progress) relay() {
	defer func() {
		if r := recover(); r != nil {
			p.clocks.cancel(recovered(r))
		}
	}()
	for {
		select {
		case <-p.wake:
			p.tellLatest()
		case <-p.done:
			return
		}
	}
}

// end returns when nothing more will be told. A report still untold is told
// now, so that a quick last one is not lost.
func (p *progress) end() {
	if p.tell == nil {
		return
	}
	close(p.done)
	p.told.Wait()
	select {
	case <-p.wake:
		p.tellLatest()
	default:
	}
}

func (p *progress) tellLatest() {
	p.mu.Lock()
	u := p.latest
	p.mu.Unlock()
	p.tell(u.progress, u.total, u.message)
}
