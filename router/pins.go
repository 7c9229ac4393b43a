package router

import "sync"

// pins remembers which server a thread is bound to, for calls that ask for a
// session of their thread. It lives as long as the process: so do the sessions.
type pins struct {
	mu    sync.Mutex
	by    map[pin]string
	order []pin // oldest first
}

type pin struct{ thread, capability string }

// pinsKept bounds the memory: the oldest binding is dropped beyond it.
const pinsKept = 10000

func (p *pins) get(k pin) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by[k]
}

// set binds, unless the thread is bound already.
func (p *pins) set(k pin, server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, bound := p.by[k]; bound {
		return
	}
	if p.by == nil {
		p.by = make(map[pin]string)
	}
	if len(p.order) >= pinsKept {
		delete(p.by, p.order[0])
		p.order = p.order[1:]
	}
	p.by[k] = server
	p.order = append(p.order, k)
}

func (p *pins) drop(k pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.by, k)
	for i, o := range p.order {
		if o == k {
			p.order = append(p.order[:i:i], p.order[i+1:]...)
			return
		}
	}
}
