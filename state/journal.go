package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"junction/state/crash"
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
	if len(o.Prior) > 0 {
		j.known = make(map[string][]Record)
	}
	for _, r := range o.Prior {
		if r.Task == s.Task {
			j.known[r.Hop] = append(j.known[r.Hop], r)
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

// MaySend reports ErrLeaseLost once the lease may have run out: a worker sends
// only before lease request start + TTL − margin, on its own monotonic clock.
func (j *Journal) MaySend() error {
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
// is an *OpenHopError; after [Journal.Drain] every one fails with ErrDraining.
// The hop must be closed.
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
			return nil, &OpenHopError{Node: j.scope.Node, Open: name}
		}
	}
	h := &Hop{journal: j, id: HopID(j.scope, name), name: name, fingerprint: fingerprint, round: 1}
	for _, r := range j.known[h.id] {
		if r.InputHash != fingerprint {
			return nil, &NondeterminismError{Node: j.scope.Node, Hop: h.id, Recorded: r.InputHash, Wanted: fingerprint}
		}
		if r.Round > h.round {
			h.round, h.prior = r.Round, nil
		}
		h.prior = append(h.prior, r)
	}
	if n := len(h.prior); n > 0 && h.prior[n-1].Final && h.prior[n-1].Status != CallSuccess {
		h.round++
		h.prior = nil
	}
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
	j.waiting = append(records, j.waiting...)
}

// Known returns every record of the task, of this run and of earlier ones: the
// Prior of the journal of the task's next run in this process.
func (j *Journal) Known() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Record
	for _, rs := range j.known {
		all = append(all, rs...)
	}
	SortRecords(all)
	return all
}

// put remembers r and, when durable, stores it with everything that waits.
func (j *Journal) put(ctx context.Context, r Record, durable bool) error {
	j.mu.Lock()
	j.remember(r)
	if !durable || j.opt.Store == nil {
		if j.opt.Store != nil {
			j.waiting = append(j.waiting, r)
		}
		j.mu.Unlock()
		return nil
	}
	batch := append(j.waiting, r)
	j.waiting = nil
	j.mu.Unlock()
	if err := j.opt.Store.PutRecords(ctx, j.opt.Lease(), batch); err != nil {
		j.Return(batch[:len(batch)-1])
		return fmt.Errorf("journal of node %q: %w", j.scope.Node, err)
	}
	return nil
}

// remember replaces the record of the same round and attempt, or adds one.
func (j *Journal) remember(r Record) {
	if j.known == nil {
		j.known = make(map[string][]Record)
	}
	rs := j.known[r.Hop]
	for i := range rs {
		if rs[i].Round == r.Round && rs[i].Attempt == r.Attempt {
			rs[i] = r
			return
		}
	}
	j.known[r.Hop] = append(rs, r)
}

// Hop is one routed call, seen from the journal.
type Hop struct {
	journal               *Journal
	id, name, fingerprint string
	round                 int
	prior                 []Record
	closed                bool
}

// ID is the hop's stable identity.
func (h *Hop) ID() string { return h.id }

// Key is the hop's idempotency key: its identity in a form servers accept (at
// most 255 visible characters).
func (h *Hop) Key() string { return "junction-" + h.id }

// Round is the round under way, from 1.
func (h *Hop) Round() int { return h.round }

// Prior returns the attempts that an earlier run made in this round, oldest
// first. One that is CallOpen has an unknown outcome.
func (h *Hop) Prior() []Record { return h.prior }

// Replay returns the final result of this hop, when an earlier run recorded
// one: nothing may be sent then.
func (h *Hop) Replay() (Record, bool) {
	if n := len(h.prior); n > 0 && h.prior[n-1].Final && h.prior[n-1].Status == CallSuccess {
		return h.prior[n-1], true
	}
	return Record{}, false
}

// Intent makes an attempt durable before its request leaves. Only conditional
// and unsafe hops need it.
func (h *Hop) Intent(ctx context.Context, r Record) error {
	r.Status = CallOpen
	crash.Point("hop.intent.before")
	err := h.journal.put(ctx, h.fill(r), true)
	crash.Point("hop.intent.after")
	return err
}

// Outcome records how an attempt ended: at once when durable (conditional and
// unsafe hops), else with the task's next store operation.
func (h *Hop) Outcome(ctx context.Context, r Record, durable bool) error {
	crash.Point("hop.outcome.before")
	err := h.journal.put(ctx, h.fill(r), durable)
	crash.Point("hop.outcome.after")
	return err
}

// Close ends the hop, so that the next numbered one may begin. A second call
// does nothing.
func (h *Hop) Close() {
	h.journal.mu.Lock()
	defer h.journal.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	h.journal.land()
	if h.journal.open == h.name {
		h.journal.open = ""
	}
}

func (h *Hop) fill(r Record) Record {
	s := h.journal.scope
	r.Thread, r.Seq, r.Step, r.Task, r.Node = s.Thread, s.Seq, s.Step, s.Task, s.Node
	r.Hop, r.Name, r.Round, r.InputHash = h.id, h.name, h.round, h.fingerprint
	return r
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
