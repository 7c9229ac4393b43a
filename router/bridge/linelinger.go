package bridge

import "slices"

// mostLingering is how many sessions of a line may go on after they were given up. Each
// holds a connection, or a process.
const mostLingering = 4

// linger lets what is under way on v, whose server may well live, go on for as long as it
// is waited for: a server that is being replaced, or that forgot the session, often ends
// what it began. It returns when nobody waits any more, the connection has ended, nothing
// is heard of it, others like it need its room, or the line is closed.
func (l *Line) linger(v *live) {
	l.mu.Lock()
	l.old = append(l.old, v)
	for len(l.old) > mostLingering {
		l.old[0].yield()
		l.old = slices.Delete(l.old, 0, 1)
	}
	v.drain()
	l.mu.Unlock()

	over, silent := make(chan struct{}), make(chan struct{})
	defer close(over)
	l.work.Go(func() {
		if why, _ := l.heartbeats(v, over); why != nil {
			l.mu.Lock()
			v.why = why
			l.mu.Unlock()
			close(silent)
		}
	})
	select {
	case <-v.drained:
	case <-v.over:
	case <-silent:
	case <-v.session.Gone():
		v.within(settling, l.ctx.Done()) // it comes back by itself
	case <-l.ctx.Done():
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.old = slices.DeleteFunc(l.old, func(o *live) bool { return o == v })
}
