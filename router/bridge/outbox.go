package bridge

import (
	"container/list"
	"strings"
)

// An outbox holds at most so many reports, and so many bytes of them unless it is a
// single one.
const (
	mostReports     = 1024
	mostReportBytes = 8 << 20
)

// outgoing is a message on its way to the client, and what it belongs to.
type outgoing struct {
	envelope
	answers *frontCall // a request of the client's, or nil
	asks    *frontAsk  // a request of ours, or nil
}

// outbox keeps what a client has not read yet (R32). Finals, which are answers and our
// own requests, are all kept: those who put them in see to it that there are not too
// many. Reports are notifications: they give way to newer ones where there are too
// many, those first that nobody misses, and of some the newest stands for all:
// progress of one token, a change of one list or resource.
//
// It is [router.Flow] for more than one source: reports of a token become one though
// others lie between them, and bytes count. It is not safe for concurrent use.
type outbox struct {
	finals      []outgoing
	first       int // of finals, those before it are gone
	finalSerial []int64
	finalBytes  int

	reports     list.List // of *report, in order of their serial
	byKey       map[string]*list.Element
	reportBytes int
	lost        int64 // reports that gave way

	serial int64 // what comes first leaves first
}

type report struct {
	outgoing
	serial int64
	key    string // of what it tells; "" where each counts
	worth  worth
}

// worth is how much a report is missed.
type worth int

const (
	passing  worth = iota // the next one, or the answer, says it as well
	changed               // of a resource: who misses it has an old copy
	standing              // of a list, or a state of the protocol itself
)

// describe says what of a notification matters to an outbox: what it tells about, and
// what it is worth.
func describe(method string, e *envelope) (key string, w worth) {
	switch {
	case method == "notifications/progress":
		if token := member(e.params, "progressToken"); token != nil {
			return "progress " + string(token), passing
		}
	case method == "notifications/resources/updated":
		return method + " " + string(e.params), changed
	case strings.HasSuffix(method, "/list_changed"):
		return method + " " + string(e.params), standing
	case method == "notifications/subscriptions/acknowledged":
		return "", standing
	}
	return "", passing
}

func (b *outbox) final(o outgoing) {
	b.serial++
	b.finals = append(b.finals, o)
	b.finalSerial = append(b.finalSerial, b.serial)
	b.finalBytes += o.size()
}

// report takes a report in. One that takes the place of another of its key takes its
// turn as well where that is safe: progress must not come after the answer. A change
// goes to the end, so that it comes after all that was said before it.
func (b *outbox) report(o outgoing, key string, w worth) {
	b.serial++
	if e := b.byKey[key]; key != "" && e != nil {
		r := e.Value.(*report)
		b.reportBytes += o.size() - r.size()
		r.outgoing = o
		if w > passing {
			r.serial = b.serial
			b.reports.MoveToBack(e)
		}
	} else {
		if b.byKey == nil {
			b.byKey = make(map[string]*list.Element)
		}
		e := b.reports.PushBack(&report{outgoing: o, serial: b.serial, key: key, worth: w})
		if key != "" {
			b.byKey[key] = e
		}
		b.reportBytes += o.size()
	}
	for b.reports.Len() > mostReports || b.reportBytes > mostReportBytes && b.reports.Len() > 1 {
		b.remove(b.least())
		b.lost++
	}
}

// least is the oldest report of those that are missed least.
func (b *outbox) least() *list.Element {
	least := b.reports.Front()
	for e := least; e != nil && least.Value.(*report).worth > passing; e = e.Next() {
		if e.Value.(*report).worth < least.Value.(*report).worth {
			least = e
		}
	}
	return least
}

func (b *outbox) remove(e *list.Element) *report {
	r := b.reports.Remove(e).(*report)
	b.reportBytes -= r.size()
	if r.key != "" {
		delete(b.byKey, r.key)
	}
	return r
}

func (b *outbox) empty() bool { return b.first == len(b.finals) && b.reports.Len() == 0 }

// next takes the oldest message out; false: there is none.
func (b *outbox) next() (o outgoing, ok bool) {
	oldest := b.reports.Front()
	if b.first == len(b.finals) {
		if oldest == nil {
			return o, false
		}
		return b.remove(oldest).outgoing, true
	}
	if oldest != nil && oldest.Value.(*report).serial < b.finalSerial[b.first] {
		return b.remove(oldest).outgoing, true
	}
	o = b.finals[b.first]
	b.finals[b.first] = outgoing{} // what it holds is free
	b.first++
	b.finalBytes -= o.size()
	b.shrink()
	return o, true
}

// shrink gives back the room of finals that are gone, at a constant cost for each.
func (b *outbox) shrink() {
	switch {
	case b.first == len(b.finals) && cap(b.finals) > mostReports:
		b.finals, b.finalSerial, b.first = nil, nil, 0
	case b.first == len(b.finals):
		b.finals, b.finalSerial, b.first = b.finals[:0], b.finalSerial[:0], 0
	case b.first > 64 && b.first > len(b.finals)/2:
		b.finals = append([]outgoing(nil), b.finals[b.first:]...)
		b.finalSerial = append([]int64(nil), b.finalSerial[b.first:]...)
		b.first = 0
	}
}
