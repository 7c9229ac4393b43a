package mcp

import "time"

// update is one progress report.
type update struct {
	progress, total float64
	message         string
}

// observer is who is told of a call's progress. Reports arrive in a connection's
// reader, which must never wait, so they are told elsewhere: by a goroutine that
// lives only while there is something to tell. Of what comes meanwhile, or too
// soon after the last, the newest is kept. The flight's lock guards it.
type observer struct {
	tell   func(progress, total float64, message string) // nil: nobody asked
	latest update
	untold bool
	ended  bool
	relays chan struct{} // closed when the goroutine has ended; nil: there is none
	hurry  chan struct{} // closed to make it end
}

// report takes a report in; noStray: it counted.
func (f *flight) report(token int64, u update) Stray {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticeLocked()
	if kind := f.is.progress(f.at(), token, u.progress); kind != noStray {
		return kind
	}
	f.tellLocked(u)
	return noStray
}

// tellLocked has u told, unless it is over.
func (f *flight) tellLocked(u update) {
	o := &f.to
	if o.tell == nil || o.ended {
		return
	}
	o.latest, o.untold = u, true
	if o.relays == nil {
		o.relays, o.hurry = make(chan struct{}), make(chan struct{})
		go f.relay(o.relays, o.hurry)
	}
}

// relay tells until nothing is left to tell, or somebody is in a hurry.
func (f *flight) relay(done, hurry chan struct{}) {
	defer close(done)
	defer func() {
		if r := recover(); r != nil {
			f.cancel(recovered(r))
		}
	}()
	for {
		u, wait, more := f.untold()
		switch {
		case !more:
			return
		case wait == 0:
			f.to.tell(u.progress, u.total, u.message)
			continue
		}
		soon := time.NewTimer(wait)
		select {
		case <-soon.C:
		case <-hurry:
		}
		soon.Stop()
	}
}

// untold returns the report to tell now, or how long to wait for that. more is
// false when the relay is to end, which it then must.
func (f *flight) untold() (u update, wait time.Duration, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := &f.to
	if !o.untold || o.ended {
		o.relays = nil
		return u, 0, false
	}
	if wait = f.is.tell(f.at()); wait == 0 {
		o.untold = false
	}
	return o.latest, wait, true
}

// lastWord returns when nothing more will be told. A report still untold is told
// now, so that a quick last one is not lost.
func (f *flight) lastWord() {
	f.mu.Lock()
	o := &f.to
	o.ended = true
	relays := o.relays
	if relays != nil {
		close(o.hurry)
	}
	f.mu.Unlock()
	if relays != nil {
		<-relays
	}
	if o.untold { // nobody else is left to touch it
		o.untold = false
		o.tell(o.latest.progress, o.latest.total, o.latest.message)
	}
}
