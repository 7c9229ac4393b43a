package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"junction/state/value"
)

// Place says where an effect lives, which decides what can be promised.
type Place int

const (
	// Elsewhere is another service that knows nothing of the key. When an owner
	// dies, nobody knows whether its effect happened: see Options.Reconcile.
	Elsewhere Place = iota
	// Idempotent is another service that does the same thing once under the key, or
	// under the receipt. When an owner dies, its effect is run again.
	Idempotent
	// Inside is the transaction of the store, which must be a Transactor.
	Inside
)

// Options configure a ledger; nil is the zero value.
type Options struct {
	Place Place
	Keeps time.Duration // how long a key is kept, from its last change; 0: 24 h; Forever: always
	Lease time.Duration // of a claim, renewed while its effect runs; 0: 30 s; not for Inside
	Wait  time.Duration // for another call with the same key, before ErrInProgress; 0: 5 s; negative: none
	Limit int           // bytes of a stored result; 0: 1 MiB
	// Secrets are paths in results (ParsePaths) of what is replaced by Masked before
	// the result is stored. The first answer has it replaced as well, so that every
	// answer is the same.
	Secrets []string
	// Strip, after Secrets, returns what is stored and answered for a result, which
	// is a canonical value (package value) that it may change. nil: the result.
	Strip func(result any) (any, error)
	// Reconcile finds out, for an effect Elsewhere, whether an execution whose owner
	// died or did not know took place. No other call works on the key meanwhile.
	// nil: Do returns ErrUnknown, until Settle.
	Reconcile func(ctx context.Context, e Entry) (Verdict, error)
}

// Verdict is what became of an execution of unknown outcome.
type Verdict struct {
	Outcome Outcome
	Result  any // of one that happened
}

// Outcome is a word about an execution of unknown outcome.
type Outcome int

const (
	StillUnknown Outcome = iota // the key stays closed
	Happened                    // its result is committed
	Never                       // the effect is free to run
)

// Call is one request to execute something.
type Call struct {
	Key         string
	Fingerprint string // of what the key stands for: see Fingerprint
}

// Run is what an effect is told.
type Run struct {
	Key     string
	Receipt string // unique to the key; the same when another owner takes over: pass it on
	Again   bool   // an earlier run may have happened (Idempotent)
}

// Effect does what a key stands for, and returns what has a JSON form. An error
// says that nothing happened, unless it wraps ErrUnsure or ctx has ended; a
// *RefusedError says so for good. Inside a transaction an error always undoes what
// the effect wrote.
type Effect func(ctx context.Context, r Run) (any, error)

// Answer is the result of a key's one execution.
type Answer struct {
	Result     json.RawMessage // canonical JSON; the caller's own
	Receipt    string
	Executions int  // 1
	Replayed   bool // by this call nothing was executed
}

// Decode reads the result into v.
func (a Answer) Decode(v any) error { return json.Unmarshal(a.Result, v) }

// Ledger executes keys once. It is safe for concurrent use.
type Ledger struct {
	store   Store
	inside  Transactor // of Inside
	o       Options
	secrets Paths
	flights flights
}

// New returns a ledger over a store, which it does not close.
func New(s Store, o *Options) (*Ledger, error) {
	l := &Ledger{store: s}
	if o != nil {
		l.o = *o
	}
	for _, d := range []struct {
		value *time.Duration
		unset time.Duration
	}{{&l.o.Keeps, 24 * time.Hour}, {&l.o.Lease, 30 * time.Second}, {&l.o.Wait, 5 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.unset
		}
	}
	if l.o.Limit == 0 {
		l.o.Limit = 1 << 20
	}
	if l.o.Lease < 10*time.Millisecond {
		return nil, fmt.Errorf("ledger: a lease of %v cannot be renewed in time; take seconds", l.o.Lease)
	}
	if l.o.Limit < 0 {
		return nil, fmt.Errorf("ledger: no result has %d bytes", l.o.Limit)
	}
	if l.o.Keeps != Forever && l.o.Keeps < l.o.Lease {
		return nil, fmt.Errorf("ledger: keys are kept %v, less than a lease of %v", l.o.Keeps, l.o.Lease)
	}
	var err error
	if l.secrets, err = ParsePaths(l.o.Secrets...); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if l.o.Place == Inside {
		t, ok := s.(Transactor)
		if !ok {
			return nil, errors.New("ledger: this store has no transaction that an effect could be inside of")
		}
		l.inside = t
	}
	return l, nil
}

// Do executes effect under a key that is new, or answers what came of it: the
// stored result, or an error that is ErrMismatch, ErrInProgress, ErrUnknown or
// ErrNoKey, all of which are *KeyError but the last. Any other error says that
// this call changed nothing, except that the answer of a store that cannot be
// reached may be lost: ask again with the same key.
func (l *Ledger) Do(ctx context.Context, c Call, effect Effect) (Answer, error) {
	if err := checkKey(c.Key); err != nil {
		return Answer{}, err
	}
	patience, cancel := context.WithTimeout(ctx, max(l.o.Wait, 0))
	defer cancel()
	leave, err := l.flights.enter(patience, c.Key)
	if err != nil {
		return Answer{}, &KeyError{Key: c.Key, Err: errors.Join(ErrInProgress, ctx.Err())}
	}
	defer leave()
	claim := Claim{
		Key: c.Key, Fingerprint: c.Fingerprint, Owner: uuid.NewString(), Receipt: uuid.NewString(),
		Lease: l.o.Lease, Keeps: l.o.Keeps,
		TakeOver: l.o.Place == Idempotent || l.o.Place == Elsewhere && l.o.Reconcile != nil,
	}
	if l.inside != nil {
		return l.transact(ctx, claim, effect)
	}
	return l.claimed(ctx, patience, claim, effect)
}

// Find returns what the ledger knows of a key, or ErrNotFound. It is what a tool
// answers that tells a client whether a call took effect.
func (l *Ledger) Find(ctx context.Context, key string) (Entry, error) {
	if err := checkKey(key); err != nil {
		return Entry{}, err
	}
	return l.store.Find(ctx, key)
}

// transact runs an effect inside the store's transaction.
func (l *Ledger) transact(ctx context.Context, c Claim, effect Effect) (Answer, error) {
	e, ran, err := l.inside.Transact(ctx, c, func(ctx context.Context) (data []byte, undo bool, err error) {
		result, err := effect(ctx, Run{Key: c.Key, Receipt: c.Receipt})
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			result, undo, err = refused.Result, true, nil
		}
		if err == nil {
			data, err = l.encode(result)
		}
		return data, undo, err
	})
	switch {
	case errors.Is(err, ErrBusy):
		return Answer{}, &KeyError{Key: c.Key, Err: errors.Join(ErrInProgress, err)}
	case err != nil:
		return Answer{}, fmt.Errorf("key %q: %w", c.Key, err)
	case ran:
		return answer(e, false), nil
	}
	return known(c, e)
}

// known is the answer about a key that was not free.
func known(c Claim, e Entry) (Answer, error) {
	switch {
	case e.Fingerprint != c.Fingerprint:
		return Answer{}, about(e, ErrMismatch)
	case e.Done:
		return answer(e, true), nil
	case e.Live:
		return Answer{}, about(e, ErrInProgress)
	}
	return Answer{}, about(e, ErrUnknown)
}

func answer(e Entry, replayed bool) Answer {
	return Answer{Result: bytes.Clone(e.Result), Receipt: e.Receipt, Executions: e.Executions, Replayed: replayed}
}

// encode makes of a result what is stored and answered.
func (l *Ledger) encode(result any) ([]byte, error) {
	v, err := value.Normalize(result)
	if err != nil {
		return nil, fmt.Errorf("its result: %w", err)
	}
	v, _ = l.secrets.Mask(v)
	if l.o.Strip != nil {
		if v, err = l.o.Strip(v); err != nil {
			return nil, fmt.Errorf("strip its result: %w", err)
		}
	}
	data, err := value.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("its result: %w", err)
	}
	if len(data) > l.o.Limit {
		return nil, fmt.Errorf("its result has %d bytes, at most %d are stored", len(data), l.o.Limit)
	}
	return data, nil
}
