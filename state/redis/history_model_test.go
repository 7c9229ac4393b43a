package redis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"junction/state"
)

// step is an operation as the model sees it: it took effect at an instant between
// called and end. One that is blind may have done so, or not.
type step struct {
	request
	called, end int64 // Unix ns
	blind       bool
}

// checkWithin bounds the search for an order. What takes longer has not passed.
const checkWithin = time.Minute

// never is the end of an operation that may take effect at any time.
const never = math.MaxInt64

// kept is what the store should hold of one thread.
type kept struct {
	tenure
	ledger
}

// ledger is what has been committed and recorded.
type ledger struct {
	head    int64
	last    string // write id of the head
	log     string // write ids, joined
	records []entered
}

func (e entered) compare(o entered) int {
	return cmp.Or(cmp.Compare(e.Seq, o.Seq), cmp.Compare(e.Hop, o.Hop), cmp.Compare(e.Attempt, o.Attempt))
}

func (e entered) record() state.Record {
	return state.Record{Status: state.CallStatus(e.Status), Final: e.Final}
}

// put merges records by the rule of state.Merge. A result is kept with the
// superstep under way.
func (l *ledger) put(records []entered) {
	l.records = slices.Clone(l.records)
	for _, r := range records {
		if r.Seq != l.head {
			r.Result = ""
		}
		i, there := slices.BinarySearchFunc(l.records, r, entered.compare)
		if !there {
			l.records = slices.Insert(l.records, i, r)
		} else if _, ok := state.Merge(l.records[i].record(), r.record()); ok {
			l.records[i] = r
		}
	}
}

// commit advances the head by one and drops the results.
func (l *ledger) commit(s step) {
	l.head++
	l.last, l.log = s.ID, l.log+" "+s.ID
	l.records = slices.Clone(l.records)
	for i := range l.records {
		l.records[i].Result = ""
	}
	l.put(s.Records)
}

// underWay are the records of the superstep that follows the head.
func (l *ledger) underWay() []entered {
	i, _ := slices.BinarySearchFunc(l.records, l.head, func(e entered, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return l.records[i:]
}

// next is what the store holds after an operation that was answered; ok is false
// when it cannot have ended as it did.
func next(k kept, s step, a answer) (_ kept, ok bool) {
	switch s.Op {
	case opAcquire:
		ok = k.acquire(s, a)
	case opRenew:
		if a.End == endLost {
			return k, k.lost(s)
		}
		ok = k.held(s)
		k.grant(s)
	case opRelease:
		if ok = true; k.holder == s.Token {
			k.holder = 0
		}
	case opRecords:
		if a.End == endLost {
			return k, k.lost(s)
		}
		ok = k.held(s)
		k.put(s.Records)
	case opCommit:
		switch {
		case s.ID == k.last: // made already
			return k, a.End == endOK && a.Head == k.head
		case a.End == endLost:
			return k, k.lost(s)
		case a.End == endConflict:
			return k, k.held(s) && s.Parent != k.head
		}
		ok = k.held(s) && s.Parent == k.head && a.Head == k.head+1
		k.commit(s)
	case opLoad:
		ok = a.Head == k.head && a.Last == k.last && strings.Join(append([]string{""}, a.Log...), " ") == k.log &&
			slices.Equal(a.Records, k.underWay())
	case opList:
		ok = slices.Equal(a.Records, k.records)
	}
	return k, ok
}

// blind is what the store holds after an operation that took effect unseen; ok is
// false when it cannot have taken any.
func blind(k kept, s step) (_ kept, ok bool) {
	switch s.Op {
	case opAcquire:
		ok = k.acquireUnseen(s)
	case opRelease:
		ok = k.holder == s.Token
		k.holder = 0
	case opRenew:
		ok = k.held(s)
		k.grant(s)
	case opRecords:
		ok = k.held(s)
		k.put(s.Records)
	case opCommit:
		ok = k.last != s.ID && k.head == s.Parent && k.held(s)
		k.commit(s)
	}
	return k, ok
}

// outcomes are the states that may follow an operation. That one without an end
// never took effect is the same as that it comes after all others.
func outcomes(k kept, s step, a answer) []any {
	if !k.at(s) {
		return nil
	}
	var out []any
	if !s.blind {
		if after, ok := next(k, s, a); ok {
			out = append(out, after)
		}
		return out
	}
	after, ok := blind(k, s)
	if ok {
		out = append(out, after)
	}
	if !ok || s.end != never {
		out = append(out, k)
	}
	return out
}

func sameKept(a, b any) bool {
	x, y := a.(kept), b.(kept)
	return x.tenure == y.tenure && x.head == y.head && x.last == y.last && x.log == y.log && slices.Equal(x.records, y.records)
}

func describe(in, out any) string {
	s, a := in.(step), out.(answer)
	if s.blind {
		return fmt.Sprintf("%s → ?", s.request)
	}
	return fmt.Sprintf("%s → %s", s.request, a)
}

// threadModel is one thread: at most one holder by the store's clock, whose writes
// alone succeed; records that merge; a head that each write id advances once.
var threadModel = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{kept{ledger: ledger{head: 1}}} },
	Step:              func(st, in, out any) []any { return outcomes(st.(kept), in.(step), out.(answer)) },
	Equal:             sameKept,
	DescribeOperation: describe,
	DescribeState:     func(st any) string { return fmt.Sprintf("%+v", st) },
}).ToModel()

// history turns the calls on one thread into operations of the model. All times
// are known up to slack, ns.
func history(calls []call, slack int64) []porcupine.Operation {
	var out []porcupine.Operation
	add := func(s step, a answer) {
		out = append(out, porcupine.Operation{Input: s, Output: a, Call: s.called, Return: s.end})
	}
	for _, c := range calls {
		called, end := c.called-slack, c.end+slack
		if c.answer != nil && c.answer.End != endUnknown {
			add(step{request: c.request, called: called, end: end}, *c.answer)
		}
		inTime, late := c.unseen()
		for range inTime {
			add(step{request: c.request, called: called, end: end, blind: true}, answer{})
		}
		for range late {
			add(step{request: c.request, called: called, end: never, blind: true}, answer{})
		}
	}
	return out
}

// unseen is how many more times an operation may have taken effect than its answer
// tells: before its end, and at any time. An answer that comes after lost tries is
// that of the last one: one that refuses may follow one that took effect, and a
// lease is lengthened by each. Of all others a repetition changes nothing, unless
// it comes late.
func (c call) unseen() (inTime, late int) {
	switch {
	case c.Op == opLoad || c.Op == opList:
		return 0, 0
	case c.answer == nil:
		return c.lost - c.late + 1, c.late
	case c.answer.End != endOK || c.Op == opAcquire || c.Op == opRenew:
		return c.lost - c.late, c.late
	default:
		return 0, c.late
	}
}
