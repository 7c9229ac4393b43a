package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// reconcile asks the author's hook about a claim that was taken over. settled:
// the key is closed or answered; else the effect is free to run. ctx ends with the
// claim.
func (l *Ledger) reconcile(ctx context.Context, e Entry) (a Answer, settled bool, err error) {
	v, err := l.o.Reconcile(ctx, e)
	if err != nil {
		v = Verdict{}
	}
	switch v.Outcome {
	case Happened:
		a, err = l.happened(ctx, e, v.Result)
		return a, true, err
	case Never:
		return a, false, nil
	}
	return a, true, about(e, errors.Join(ErrUnknown, err, l.release(ctx, e.Key, e.Owner, true)))
}

// happened commits a result that somebody found out.
func (l *Ledger) happened(ctx context.Context, e Entry, result any) (Answer, error) {
	data, err := l.encode(result)
	if err != nil {
		return Answer{}, about(e, errors.Join(ErrUnknown, err, l.release(ctx, e.Key, e.Owner, true)))
	}
	a, err := l.commit(ctx, e, data)
	a.Replayed = true
	return a, err
}

// Settle closes a key of unknown outcome by what somebody found out, or frees it.
// A key that is committed or under way is left as it is, and that is an error.
func (l *Ledger) Settle(ctx context.Context, key string, v Verdict) error {
	found, err := l.Find(ctx, key)
	if err != nil {
		return err
	}
	if v.Outcome == StillUnknown {
		return errors.New("settle: say whether it happened")
	}
	if found.Done {
		return about(found, errors.New("it is committed already"))
	}
	e, mine, err := l.store.Claim(ctx, Claim{
		Key: key, Fingerprint: found.Fingerprint, Owner: uuid.NewString(), Receipt: found.Receipt,
		Lease: l.o.Lease, Keeps: l.o.Keeps, TakeOver: true,
	})
	switch {
	case err != nil:
		return fmt.Errorf("settle key %q: %w", key, err)
	case !mine && e.Done:
		return about(e, errors.New("it is committed already"))
	case !mine:
		return about(e, ErrInProgress)
	case v.Outcome == Never:
		return l.release(ctx, key, e.Owner, false)
	}
	_, err = l.happened(ctx, e, v.Result)
	return err
}
