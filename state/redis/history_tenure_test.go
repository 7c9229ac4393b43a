package redis

// tenure is the lease of a thread. Instants are known within bounds, which every
// operation narrows: one that found the lease alive came before its end, one that
// found it dead after.
type tenure struct {
	holder   int64  // its token, 0: released or never taken, unseen: nobody was told
	highest  int64  // token given
	owner    string // of the holder
	id       string // of the acquisition
	ttl      int64  // ns
	from, to int64  // it ends between these
	now      int64  // no later operation took effect before
}

// unseen stands for the token of an acquisition whose reply did not arrive.
const unseen = -1

// at moves to an operation, unless it ended before one that came earlier.
func (t *tenure) at(s step) bool {
	t.now = max(t.now, s.called)
	t.to = min(t.to, after(s.end, t.ttl)) // the lease was given before this operation's end
	return t.now <= s.end
}

func after(end, ttl int64) int64 {
	if end == never {
		return never
	}
	return end + ttl
}

// grant lets the lease run for ttl from the operation.
func (t *tenure) grant(s step) {
	t.ttl = int64(s.TTL)
	t.from, t.to = t.now+t.ttl, after(s.end, t.ttl)
}

// alive says whether the operation can have found the lease alive.
func (t *tenure) alive() bool {
	if t.holder == 0 || t.now >= t.to {
		return false
	}
	t.from = max(t.from, t.now)
	return true
}

// dead says whether the operation can have found no lease alive.
func (t *tenure) dead(s step) bool {
	if t.holder == 0 {
		return true
	}
	if s.end < t.from {
		return false
	}
	t.now, t.to = max(t.now, t.from), min(t.to, s.end)
	return true
}

func (t *tenure) held(s step) bool { return t.holder == s.Token && t.alive() }
func (t *tenure) lost(s step) bool { return t.holder != s.Token || t.dead(s) }

// acquire gives a lease that is dead, under a token above all before. No
// acquisition is in its own way.
func (t *tenure) acquire(s step, a answer) bool {
	if a.End == endBusy {
		if !t.alive() || t.owner != a.Owner || t.id == s.ID {
			return false
		}
		t.from = max(t.from, t.now+int64(a.Remaining))
		t.to = min(t.to, s.end+int64(a.Remaining))
		return t.from <= t.to
	}
	if a.Token <= t.highest || !t.dead(s) {
		return false
	}
	t.holder, t.highest, t.owner, t.id = a.Token, a.Token, s.Owner, s.ID
	t.grant(s)
	return true
}

// acquireUnseen gives a lease without telling anybody its token. An acquisition
// that comes again finds the lease its own, unless it was released.
func (t *tenure) acquireUnseen(s step) bool {
	switch {
	case t.id == s.ID && t.holder == 0:
		return false
	case t.id == s.ID:
	case !t.dead(s):
		return false
	default:
		t.holder, t.owner, t.id = unseen, s.Owner, s.ID
	}
	t.grant(s)
	return true
}
