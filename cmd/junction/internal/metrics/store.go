package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"junction/state"
)

// operation is one that a store is timed in.
type operation int

const (
	opCreateThread operation = iota
	opThread
	opThreads
	opDeleteThread
	opRequestCancel
	opCancelRequested
	opReopen
	opSetStatus
	opPrune
	opAcquire
	opRenew
	opRelease
	opLoad
	opCheckpoints
	opPutWrites
	opPutInterrupt
	opAnswer
	opCommit
	opPutRecords
	opRecords
	opPutBlob
	opBlob
	opPutSession
	opSessions
	opEnqueue
	opExtend
	opDone
	opDefer
	opPutHealth
	opHealth
	opExchange
	opClaim
	opQueueLen
)

var operationNames = [...]string{
	opCreateThread:    "create_thread",
	opThread:          "thread",
	opThreads:         "threads",
	opDeleteThread:    "delete_thread",
	opRequestCancel:   "request_cancel",
	opCancelRequested: "cancel_requested",
	opReopen:          "reopen",
	opSetStatus:       "set_status",
	opPrune:           "prune",
	opAcquire:         "acquire",
	opRenew:           "renew",
	opRelease:         "release",
	opLoad:            "load",
	opCheckpoints:     "checkpoints",
	opPutWrites:       "put_writes",
	opPutInterrupt:    "put_interrupt",
	opAnswer:          "answer",
	opCommit:          "commit",
	opPutRecords:      "put_records",
	opRecords:         "records",
	opPutBlob:         "put_blob",
	opBlob:            "blob",
	opPutSession:      "put_session",
	opSessions:        "sessions",
	opEnqueue:         "enqueue",
	opExtend:          "extend",
	opDone:            "done",
	opDefer:           "defer",
	opPutHealth:       "put_health",
	opHealth:          "health",
	opExchange:        "exchange",
	opClaim:           "claim",
	opQueueLen:        "queue_len",
}

// Store times what is asked of s. It keeps the optional abilities that s has.
func (m *Metrics) Store(s state.Store) state.Store { return withAbilities(m, s) }

// stored counts an operation that ended.
func (m *Metrics) stored(op operation, begun time.Time, err error) {
	took := time.Since(begun).Seconds()
	m.durations[op].Observe(took)
	if op == opCommit {
		m.checkpoints.Observe(took)
	}
	if err == nil {
		return
	}
	kind := kindOf(err)
	m.storeErrors.WithLabelValues(operationNames[op], kind).Inc()
	if kind == leaseLost && op != opRenew {
		m.fenced.Inc()
	}
}

const leaseLost = "lease_lost"

// kindOf is a state that a caller can act upon, those that bring ErrLeaseLost with
// them first.
func kindOf(err error) string {
	for _, k := range []struct {
		is   error
		kind string
	}{
		{state.ErrRegressed, "regressed"}, {state.ErrVanished, "vanished"}, {state.ErrLeaseLost, leaseLost},
		{state.ErrConflict, "conflict"}, {state.ErrBusy, "busy"}, {state.ErrNotFound, "not_found"}, {state.ErrExists, "exists"},
		{state.ErrAnswered, "answered"}, {state.ErrUnavailable, "unavailable"}, {context.Canceled, "cancelled"}, {context.DeadlineExceeded, "deadline"},
	} {
		if errors.Is(err, k.is) {
			return k.kind
		}
	}
	return other
}

// timed is what is timed of something that can do T.
type timed[T any] struct {
	m    *Metrics
	next T
}

// store is a [state.Store] whose operations are timed.
type store timed[state.Store]

// Close implements [state.Store].
func (s store) Close() error { return s.next.Close() }

func (s store) CreateThread(ctx context.Context, t state.NewThread) (state.Thread, error) {
	begun := time.Now()
	v, err := s.next.CreateThread(ctx, t)
	s.m.stored(opCreateThread, begun, err)
	return v, err
}

func (s store) Thread(ctx context.Context, id string) (state.Thread, error) {
	begun := time.Now()
	v, err := s.next.Thread(ctx, id)
	s.m.stored(opThread, begun, err)
	return v, err
}

func (s store) Threads(ctx context.Context, f state.ThreadFilter) ([]state.Thread, error) {
	begun := time.Now()
	v, err := s.next.Threads(ctx, f)
	s.m.stored(opThreads, begun, err)
	return v, err
}

func (s store) DeleteThread(ctx context.Context, id string) error {
	begun := time.Now()
	err := s.next.DeleteThread(ctx, id)
	s.m.stored(opDeleteThread, begun, err)
	return err
}

func (s store) RequestCancel(ctx context.Context, id string) error {
	begun := time.Now()
	err := s.next.RequestCancel(ctx, id)
	s.m.stored(opRequestCancel, begun, err)
	return err
}

func (s store) CancelRequested(ctx context.Context, id string) (bool, error) {
	begun := time.Now()
	v, err := s.next.CancelRequested(ctx, id)
	s.m.stored(opCancelRequested, begun, err)
	return v, err
}

func (s store) Reopen(ctx context.Context, id string) (state.Thread, error) {
	begun := time.Now()
	v, err := s.next.Reopen(ctx, id)
	s.m.stored(opReopen, begun, err)
	return v, err
}

func (s store) SetStatus(ctx context.Context, l state.Lease, is state.Status, f *state.Failure, records []state.Record) error {
	begun := time.Now()
	err := s.next.SetStatus(ctx, l, is, f, records)
	s.m.stored(opSetStatus, begun, err)
	return err
}

func (s store) Prune(ctx context.Context, r state.Retention) (int, error) {
	begun := time.Now()
	v, err := s.next.Prune(ctx, r)
	s.m.stored(opPrune, begun, err)
	return v, err
}

func (s store) Acquire(ctx context.Context, thread, owner string, ttl time.Duration) (state.Lease, error) {
	begun := time.Now()
	v, err := s.next.Acquire(ctx, thread, owner, ttl)
	s.m.stored(opAcquire, begun, err)
	return v, err
}

func (s store) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	begun := time.Now()
	v, err := s.next.Renew(ctx, l)
	s.m.stored(opRenew, begun, err)
	return v, err
}

func (s store) Release(ctx context.Context, l state.Lease) error {
	begun := time.Now()
	err := s.next.Release(ctx, l)
	s.m.stored(opRelease, begun, err)
	return err
}

func (s store) Load(ctx context.Context, thread string, seq int64) (state.Snapshot, error) {
	begun := time.Now()
	v, err := s.next.Load(ctx, thread, seq)
	s.m.stored(opLoad, begun, err)
	return v, err
}

func (s store) Checkpoints(ctx context.Context, thread string, before int64, limit int) ([]state.Checkpoint, error) {
	begun := time.Now()
	v, err := s.next.Checkpoints(ctx, thread, before, limit)
	s.m.stored(opCheckpoints, begun, err)
	return v, err
}

func (s store) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, records []state.Record) error {
	begun := time.Now()
	err := s.next.PutWrites(ctx, l, seq, w, records)
	s.m.stored(opPutWrites, begun, err)
	return err
}

func (s store) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, records []state.Record) error {
	begun := time.Now()
	err := s.next.PutInterrupt(ctx, l, seq, i, records)
	s.m.stored(opPutInterrupt, begun, err)
	return err
}

func (s store) Answer(ctx context.Context, thread string, answers map[string]json.RawMessage) error {
	begun := time.Now()
	err := s.next.Answer(ctx, thread, answers)
	s.m.stored(opAnswer, begun, err)
	return err
}

func (s store) Commit(ctx context.Context, c state.Commit) (state.Checkpoint, error) {
	begun := time.Now()
	v, err := s.next.Commit(ctx, c)
	s.m.stored(opCommit, begun, err)
	return v, err
}

func (s store) PutRecords(ctx context.Context, l state.Lease, records []state.Record) error {
	begun := time.Now()
	err := s.next.PutRecords(ctx, l, records)
	s.m.stored(opPutRecords, begun, err)
	return err
}

func (s store) Records(ctx context.Context, f state.RecordFilter) ([]state.Record, error) {
	begun := time.Now()
	v, err := s.next.Records(ctx, f)
	s.m.stored(opRecords, begun, err)
	return v, err
}

func (s store) PutBlob(ctx context.Context, l state.Lease, data []byte) (string, error) {
	begun := time.Now()
	v, err := s.next.PutBlob(ctx, l, data)
	s.m.stored(opPutBlob, begun, err)
	return v, err
}

func (s store) Blob(ctx context.Context, thread, hash string) ([]byte, error) {
	begun := time.Now()
	v, err := s.next.Blob(ctx, thread, hash)
	s.m.stored(opBlob, begun, err)
	return v, err
}

func (s store) PutSession(ctx context.Context, l state.Lease, session state.Session) error {
	begun := time.Now()
	err := s.next.PutSession(ctx, l, session)
	s.m.stored(opPutSession, begun, err)
	return err
}

func (s store) Sessions(ctx context.Context, thread string) ([]state.Session, error) {
	begun := time.Now()
	v, err := s.next.Sessions(ctx, thread)
	s.m.stored(opSessions, begun, err)
	return v, err
}
