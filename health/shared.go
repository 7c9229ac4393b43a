package health

import (
	"cmp"
	"slices"
	"time"
)

// Share is what one worker knows now of one server, for the others.
type Share struct {
	Server   string
	InFlight int           // its calls there
	Ejected  time.Duration // from now; 0: not. Only where all that the server does there is ejected
	Failures int           // since it last told
	Calls    int           // likewise
}

// Peer is another worker's shares.
type Peer struct {
	Age    time.Duration // since it told
	Shares []Share
}

// view is what the other workers, and a source of error rates, say of a server. It
// is never changed. The rules:
//
//   - Calls in flight elsewhere are counted as our own are. They count in full until
//     they are two thirds of fade old, which news seldom gets, and fall from there
//     to nothing at fade: without news every worker knows its own again.
//   - An ejection elsewhere is a strike: with one worker's the second failure in a
//     row ejects here, with more of them the first one. Where most of the others
//     that use the server, and at least two, have it ejected, it is ejected here
//     unseen, until half of theirs are over. One that has trouble of its own takes
//     a server from nobody.
//   - What was ejected so is not told on, so that no ejection keeps itself alive.
//   - It comes back by slow start, as after an own ejection, so that no worker
//     throws its whole traffic at what others have just let go. An own success ends it.
type view struct {
	at      time.Duration // when the shares were told, on average, since the epoch
	fade    time.Duration
	calls   float64 // in flight, of shares just told
	workers int     // that have calls there, this one included
	strikes int

	agreed bool          // most have it ejected
	lifted bool          // and it answered here since they had
	until  time.Duration // end of the last agreed ejection, since the epoch

	rate      float64       // of errors, from outside
	rateUntil time.Duration // end of its use, since the epoch
}

var unseen = view{at: never, until: never, rateUntil: never}

// freshness is how much a share of this age counts, [0, 1].
func freshness(age, fade time.Duration) float64 {
	if age >= fade || fade <= 0 {
		return 0
	}
	return min(1, 3*(1-float64(max(age, 0))/float64(fade)))
}

// fill adds what the others say to a reading at now, since the epoch.
func (v *view) fill(r *Reading, now time.Duration) {
	r.Own, r.Workers = r.InFlight, 1
	if v == nil {
		return
	}
	if left := freshness(now-v.at, v.fade); left > 0 {
		r.InFlight += int(v.calls*left + 0.5)
		r.Workers = v.workers
	}
	if now < v.until {
		r.Ejected = true
	}
	r.Ramp = min(r.Ramp, rampAt(now-v.until))
	if now < v.rateUntil {
		r.ErrorRate = v.rate
	}
}

// Full reports whether a server that declares so many places (0: no bound) has none
// for this worker. What its share of them would be among all who use the server is
// its own whatever the others do: who is there first shuts nobody out.
func (r *Reading) Full(places int) bool {
	if places <= 0 || r.InFlight < places {
		return false
	}
	return r.Own >= places/max(r.Workers, 1)
}

// update changes the view by a copy.
func (l *Load) update(change func(*view)) {
	for {
		old := l.seen.Load()
		next := unseen
		if old != nil {
			next = *old
		}
		change(&next)
		if l.seen.CompareAndSwap(old, &next) {
			return
		}
	}
}

// lift ends an ejection by the others: the server answered here.
func (l *Load) lift(now time.Duration) {
	if v := l.seen.Load(); v == nil || now >= v.until {
		return
	}
	l.update(func(v *view) {
		if now < v.until {
			v.lifted, v.until = true, now
		}
	})
}

// strikes is how many workers have the server ejected.
func (l *Load) strikes(now time.Duration) int {
	if v := l.seen.Load(); v != nil && now-v.at < v.fade {
		return v.strikes
	}
	return 0
}

// heed counts others' strikes before an own failure: they shorten the row.
func (e *Ejection) heed(now time.Time, strikes int) {
	if !now.Before(e.until) {
		e.row = max(e.row, min(strikes, ejectAfter-1))
	}
}

// Shares returns what there is to tell of servers in use, those with the most calls
// in flight first, most of them at most.
func (t *Tracker) Shares(now time.Time, most int) []Share {
	t.telling.Lock()
	defer t.telling.Unlock()
	by := make(map[string]*Share)
	t.mu.RLock()
	for server, load := range t.loads {
		ended, failed := load.ended.Load(), load.failed.Load()
		s := Share{Server: server, InFlight: load.InFlight(), Calls: int(ended - load.toldEnded), Failures: int(failed - load.toldFailed)}
		load.toldEnded, load.toldFailed = ended, failed
		by[server] = &s
	}
	works := make(map[string]bool) // servers that something of is not ejected
	for key, series := range t.series {
		p, s := series.now.Load(), by[key.server]
		at := series.since(now)
		switch left := p.ejected - at; {
		case left > 0 && (s.Ejected == 0 || left < s.Ejected):
			s.Ejected = left
		case left <= 0 && p.calls > 0 && at-p.at < errorSlots*errorWidth:
			works[key.server] = true
		}
	}
	t.mu.RUnlock()
	all := make([]Share, 0, len(by))
	for server, s := range by {
		if works[server] {
			s.Ejected = 0
		}
		if s.InFlight > 0 || s.Calls > 0 || s.Ejected > 0 {
			all = append(all, *s)
		}
	}
	slices.SortFunc(all, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.InFlight, a.InFlight), cmp.Compare(b.Ejected, a.Ejected), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Server, b.Server))
	})
	return all[:min(len(all), most)]
}

// Hear takes in what other workers tell, all that is known of them: of a server that
// none of them names, none has calls. Where there are more others than peers, the
// peers stand for all of them. Shares count for less with their age, and for nothing
// at fade.
func (t *Tracker) Hear(now time.Time, peers []Peer, others int, fade time.Duration) {
	if fade <= 0 {
		return
	}
	heard := make(map[string]*hearing)
	for i := range peers {
		for _, s := range peers[i].Shares {
			h := heard[s.Server]
			if h == nil {
				h = new(hearing)
				heard[s.Server] = h
			}
			h.add(s, peers[i].Age, fade)
		}
	}
	scale := 1.0
	if others > len(peers) && len(peers) > 0 {
		scale = float64(others) / float64(len(peers))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = news{now, fade, scale, heard}
	for server, load := range t.loads {
		if heard[server] != nil || load.seen.Load() != nil {
			t.heard.tell(load, server, t.started)
		}
	}
}

// news is what was heard last, kept for servers that this worker has not used yet.
type news struct {
	at    time.Time
	fade  time.Duration
	scale float64
	by    map[string]*hearing
}

// tell has a server's load know of it. The tracker is locked.
func (n *news) tell(l *Load, server string, epoch time.Time) {
	h := n.by[server]
	if h == nil {
		h = new(hearing)
	}
	l.elsewhere.Add(h.ended)
	l.update(func(v *view) { h.write(v, n.at.Sub(epoch), n.fade, n.scale) })
}

// hearing gathers what peers say of one server.
type hearing struct {
	knows, busy int
	calls, aged float64         // in flight, and those times their age, by freshness
	ends        []time.Duration // of ejections, from now
	ended       uint64
}

func (h *hearing) add(s Share, age, fade time.Duration) {
	left := freshness(age, fade)
	if left <= 0 {
		return
	}
	h.knows++
	h.ended += uint64(max(s.Calls, 0))
	if n := float64(max(s.InFlight, 0)); n > 0 {
		h.busy++
		h.calls += n * left
		h.aged += n * left * float64(age)
	}
	if end := s.Ejected - age; end > 0 {
		h.ends = append(h.ends, end)
	}
}

// write makes a view of it, now since the epoch.
func (h *hearing) write(v *view, now, fade time.Duration, scale float64) {
	age := time.Duration(0)
	if h.calls > 0 {
		age = time.Duration(h.aged / h.calls)
	}
	v.at, v.fade, v.strikes = now-age, fade, len(h.ends)
	v.calls, v.workers = scale*h.calls/freshness(age, fade), 1+int(scale*float64(h.busy)+0.5)
	was := v.agreed
	v.agreed = len(h.ends) >= 2 && 2*len(h.ends) > h.knows
	switch {
	case !v.agreed:
		v.lifted = false
		if was { // theirs ended before their time: a success
			v.until = min(v.until, now)
		}
	case !v.lifted:
		slices.Sort(h.ends)
		// Never beyond the news: with the store away it ends, by slow start too.
		v.until = now + min(h.ends[(len(h.ends)-1)/2], fade)
	}
}

// SetErrorRate has the error rate of a server, [0, 1], be this one until then,
// whatever was seen of it here: a source outside has seen more.
func (t *Tracker) SetErrorRate(server string, rate float64, until time.Time) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if load := t.loads[server]; load != nil {
		load.update(func(v *view) { v.rate, v.rateUntil = clamp(rate), until.Sub(t.started) })
	}
}
