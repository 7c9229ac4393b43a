package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Scope identifies a task: with a hop's name it gives the hop's identity.
type Scope struct {
	Thread, Lineage string
	Seq             int64 // checkpoint the superstep started from
	Step            int
	Task, Node      string
}

// Ask puts a question to a person and returns the answer, or the error the
// node must return for the thread to pause (the graph's interrupt). name makes
// the question's id stable within the task; schema is a JSON Schema the answer
// must satisfy, or nil.
type Ask func(ctx context.Context, name string, question, schema any) (json.RawMessage, error)

// Hash is the SHA-256 of data in hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// HopID derives a hop's identity: the same on every attempt, server, process
// and resume; another in a fork, whose lineage differs.
func HopID(s Scope, name string) string {
	h := sha256.New()
	for _, part := range []string{s.Thread, s.Lineage, strconv.FormatInt(s.Seq, 10), s.Task, name} {
		// Lengths keep ("ab","c") and ("a","bc") apart.
		fmt.Fprintf(h, "%d:%s;", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// JournalOptions are what a journal stands on; the zero value keeps everything
// in memory and asks nobody.
type JournalOptions struct {
	Store RecordStore  // nil: nothing is durable
	Lease func() Lease // the lease as it stands; nil with a nil Store
	Prior []Record     // what earlier runs of the task left
	Ask   Ask          // nil: questions are errors
	Live  Ask          // puts a question and waits for its answer until ctx ends; nil: there is nobody to ask
}

// Journal records one task's hops. Hops without a name run one after another
// and are numbered; named ones may run at once. It is safe for concurrent use
// and never holds its lock across I/O.
type Journal struct {
	scope Scope
	opt   JournalOptions

	mu      sync.Mutex
	count   int
	open    string              // the numbered hop under way
	named   map[string]bool     // named hops under way or done in this run
	known   map[string][]Record // by hop, in order of Round, Attempt
	waiting []Record            // safe outcomes that ride in the next store operation
	flying  int                 // hops begun and not closed
	idle    chan struct{}       // of Drain: closed once nothing flies; nil while not draining
}

// NewJournal returns the journal of one run of a task.
func NewJournal(s Scope, o JournalOptions) *Journal {
	j := &Journal{scope: s, opt: o}
	for _, r := range o.Prior {
		if r.Task == s.Task {
			j.remember(r.Clone())
		}
	}
	return j
}

// Scope returns the task's identity.
func (j *Journal) Scope() Scope { return j.scope }

// Ask puts a question to a person; see the type Ask.
func (j *Journal) Ask(ctx context.Context, name string, question, schema any) (json.RawMessage, error) {
	if j.opt.Ask == nil {
		return nil, fmt.Errorf("node %q asks a question (%s) where nobody can answer", j.scope.Node, name)
	}
	return j.opt.Ask(ctx, name, question, schema)
}

// Asks reports whether a question can be put to a person at all.
func (j *Journal) Asks() bool { return j.opt.Ask != nil }

// AskLive puts a question whose asker waits, in the middle of a call, and returns
// its answer. It ends with ctx, and the question with it.
func (j *Journal) AskLive(ctx context.Context, name string, question, schema any) (json.RawMessage, error) {
	if !j.AsksLive() {
		return nil, fmt.Errorf("node %q asks a question (%s) while a call waits for it, where nobody can answer", j.scope.Node, name)
	}
	return j.opt.Live(ctx, name, question, schema)
}

// AsksLive reports whether a question can be put while a call waits for it.
func (j *Journal) AsksLive() bool { return j.opt.Live != nil }

// MaySend reports ErrLeaseLost once the lease may have run out: a worker sends
// only before lease request start + TTL − margin, on its own monotonic clock.
// After [Journal.Drain] it reports ErrDraining, whatever the hop's context says:
// a hop under way at that time makes no further attempt, least of all one whose
// task has been given up.
func (j *Journal) MaySend() error {
	j.mu.Lock()
	drains := j.idle != nil
	j.mu.Unlock()
	if drains {
		return fmt.Errorf("node %q: no request leaves any more: %w", j.scope.Node, ErrDraining)
	}
	if j.opt.Lease == nil {
		return nil
	}
	if l := j.opt.Lease(); !l.Until.IsZero() && time.Now().After(l.Until) {
		return fmt.Errorf("thread %s: %w: it ran out before the request left", j.scope.Thread, ErrLeaseLost)
	}
	return nil
}

// Begin opens a hop. fingerprint is the Hash of its canonical arguments (with
// capability, server and tool): a record of the same identity with another
// fingerprint is a *NondeterminismError. A numbered hop begun while one is open
// is an *OpenHopError, and so is a name that this run has used; after
// [Journal.Drain] every one fails with ErrDraining. The hop must be closed.
//
// A hop with a final result replays it; a tool's own error of a safe hop only
// where the task has gone on after it. Else it goes on in its newest round
// ([Hop.Prior] tells what was tried), unless that round has ended and nothing in
// it can have taken effect: then a new round begins.
func (j *Journal) Begin(name, fingerprint string) (*Hop, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	numbered := name == ""
	if numbered {
		if j.open != "" {
			return nil, &OpenHopError{Node: j.scope.Node, Open: j.open}
		}
		j.count++
		name = strconv.Itoa(j.count)
	} else {
		name = "@" + name // apart from the numbers
		if j.named[name] {
			return nil, &OpenHopError{Node: j.scope.Node, Open: name, Named: true}
		}
	}
	h := &Hop{journal: j, id: HopID(j.scope, name), name: name, fingerprint: fingerprint, round: 1}
	for _, r := range j.known[h.id] {
		if r.InputHash != fingerprint {
			return nil, &NondeterminismError{Node: j.scope.Node, Hop: h.id, Recorded: r.InputHash, Wanted: fingerprint}
		}
	}
	h.resume(j.known[h.id])
	if err := j.takeOff(); err != nil {
		return nil, err
	}
	if numbered {
		j.open = name
	} else {
		if j.named == nil {
			j.named = make(map[string]bool)
		}
		j.named[name] = true
	}
	return h, nil
}

// Take removes and returns the records that wait for a store operation; give
// them back with Return when that operation fails.
func (j *Journal) Take() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.waiting
	j.waiting = nil
	return w
}

// Return gives back records taken for an operation that failed.
func (j *Journal) Return(records []Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = slices.Concat(records, j.waiting)
}

// Known returns every record of the task, of this run and of earlier ones: the
// Prior of the journal of the task's next run in this process.
func (j *Journal) Known() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Record
	for _, rs := range j.known {
		for _, r := range rs {
			all = append(all, r.Clone())
		}
	}
	SortRecords(all)
	return all
}

// Undecided reports whether a hop of the task may have taken effect and nobody
// knows whether it did. Such a task has not failed: its next run finds out.
func (j *Journal) Undecided() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, rs := range j.known { // in order of round
		open := false
		for _, r := range rs {
			if r.Final || r.Execution == Executed {
				// Its round has ended, and so have those before it; or it is known
				// what happened, though not with which result.
				open = false
				continue
			}
			open = open || r.Undecided()
		}
		if open {
			return true
		}
	}
	return false
}

// intent stores r, with everything that waits, and remembers it. When it could
// not be stored nothing may be sent: in this process it has not happened.
func (j *Journal) intent(ctx context.Context, r Record) error {
	if j.opt.Store != nil {
		waiting := j.Take()
		if err := j.opt.Store.PutRecords(ctx, j.opt.Lease(), append(slices.Clip(waiting), r)); err != nil {
			j.Return(waiting)
			return &JournalError{Node: j.scope.Node, What: "intent of hop " + r.Hop, Err: err}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.remember(r)
	return nil
}

// outcome remembers r and stores it with everything that waits, or lets it
// wait. It stays true when it could not be stored: then it rides in the task's
// next store operation.
func (j *Journal) outcome(ctx context.Context, r Record, durable bool) error {
	j.mu.Lock()
	j.remember(r)
	if j.opt.Store == nil {
		j.mu.Unlock()
		return nil
	}
	j.waiting = append(j.waiting, r)
	j.mu.Unlock()
	if !durable {
		return nil
	}
	batch := j.Take()
	if err := j.opt.Store.PutRecords(ctx, j.opt.Lease(), batch); err != nil {
		j.Return(batch)
		return &JournalError{Node: j.scope.Node, What: "outcome of hop " + r.Hop, Err: err}
	}
	return nil
}

// remember replaces the record of the same round and attempt, or adds one in
// its place. The store stamps a record that has no time; here it gets ours.
func (j *Journal) remember(r Record) {
	if j.known == nil {
		j.known = make(map[string][]Record)
	}
	rs := j.known[r.Hop]
	at, there := slices.BinarySearchFunc(rs, r, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Attempt, b.Attempt))
	})
	if there {
		r, _ = Merge(rs[at], r)
		rs[at] = r
	} else {
		rs = slices.Insert(rs, at, r)
	}
	if rs[at].Started.IsZero() {
		rs[at].Started = time.Now()
	}
	j.known[r.Hop] = rs
}

type journalKey struct{}

// WithJournal gives ctx the journal of the task it belongs to.
func WithJournal(ctx context.Context, j *Journal) context.Context {
	return context.WithValue(ctx, journalKey{}, j)
}

// JournalFrom returns the journal of the task ctx belongs to, or nil outside
// of a graph.
func JournalFrom(ctx context.Context) *Journal {
	j, _ := ctx.Value(journalKey{}).(*Journal)
	return j
}
