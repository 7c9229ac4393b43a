package bridge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// errand is one message on a line: a request, or a notification. What is not set
// before it is queued is guarded by the line's lock.
type errand struct {
	place uint64 // among all of the line, by arrival; it keeps it when it comes back
	ctx   context.Context

	note *mcp.Notification // nil: a request

	request *Request
	done    chan struct{} // closed when it has its one outcome
	over    bool
	reply   mcp.Reply
	err     *router.CallError

	unwatch func() bool // stops looking at ctx; nil: not yet, as with clock
	clock   *time.Timer // looks at until and rest
	until   time.Time   // when it has waited long enough
	rest    time.Time   // not sent before, since the server asked for it
	rests   int
	lost    int  // sessions lost under it
	unknown bool // it may have been executed by one of them
	anew    bool // it was sent again for the sake of another version
}

// wait returns the outcome.
func (w *errand) wait() (mcp.Reply, *router.CallError) {
	<-w.done
	return w.reply, w.err
}

// end gives a request its outcome, unless it has one.
func (w *errand) end(reply mcp.Reply, err *router.CallError) {
	if w.over {
		return
	}
	w.over, w.reply, w.err = true, reply, err
	if w.clock != nil {
		w.clock.Stop()
	}
	if w.unwatch != nil {
		w.unwatch()
	}
	close(w.done)
}

// queue holds what waits to leave, in the order of arrival.
type queue struct {
	waiting []*errand
	notes   int // of them
}

// requests is how many wait.
func (q *queue) requests() int { return len(q.waiting) - q.notes }

// add puts w in its place, before all that came after it.
func (q *queue) add(w *errand) {
	i, _ := q.find(w)
	q.waiting = slices.Insert(q.waiting, i, w)
	if w.note != nil {
		q.notes++
	}
}

// remove takes w out, if it is there.
func (q *queue) remove(w *errand) {
	i, ok := q.find(w)
	if !ok {
		return
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if w.note != nil {
		q.notes--
	}
}

// next is the first that does not rest, nil for none.
func (q *queue) next(now time.Time) *errand {
	for _, w := range q.waiting {
		if !now.Before(w.rest) {
			return w
		}
	}
	return nil
}

// dropNotes takes out the notifications, dropRequests the requests.
func (q *queue) dropNotes() {
	q.waiting = slices.DeleteFunc(q.waiting, func(w *errand) bool { return w.note != nil })
	q.notes = 0
}

func (q *queue) dropRequests() []*errand {
	all := q.waiting
	q.waiting, q.notes = nil, 0
	return slices.DeleteFunc(all, func(w *errand) bool { return w.note != nil })
}

// ended is a request whose caller has left and that is still in its place, nil for
// none.
func (q *queue) ended() *errand {
	i := slices.IndexFunc(q.waiting, func(w *errand) bool { return w.note == nil && w.ctx.Err() != nil })
	if i < 0 {
		return nil
	}
	return q.waiting[i]
}

func (q *queue) find(w *errand) (int, bool) {
	return slices.BinarySearchFunc(q.waiting, w.place, func(v *errand, place uint64) int { return cmp.Compare(v.place, place) })
}
