package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settleWithin bounds what an owner still owes the store when its caller is gone:
// to commit what happened, or to free the key.
const settleWithin = 10 * time.Second

// claimed runs an effect under a claim, for which it waits until patience ends.
func (l *Ledger) claimed(ctx, patience context.Context, c Claim, effect Effect) (Answer, error) {
	e, asked, mine, err := l.claim(ctx, patience, c)
	if err != nil {
		return Answer{}, err
	}
	if !mine {
		return known(c, e)
	}
	held, stop := l.hold(ctx, e, asked)
	defer stop()
	again := e.Claims > 1
	if again && l.o.Place != Idempotent {
		a, settled, err := l.reconcile(held, e)
		if settled || err != nil {
			return a, err
		}
		again = false
	}
	return l.run(held, stop, e, again, effect)
}

// claim asks for the key until it is this call's, somebody else's for good, or
// patience ends. asked is when the last request left.
func (l *Ledger) claim(ctx, patience context.Context, c Claim) (e Entry, asked time.Time, mine bool, err error) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		asked = time.Now()
		if e, mine, err = l.store.Claim(ctx, c); err != nil {
			// The claim may have been made. Nothing began under it.
			return e, asked, false, errors.Join(fmt.Errorf("claim key %q: %w", c.Key, err), l.release(ctx, c.Key, c.Owner, false))
		}
		if mine || e.Done || !e.Live || e.Fingerprint != c.Fingerprint {
			return e, asked, mine, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-patience.Done():
			timer.Stop()
			return e, asked, false, about(e, errors.Join(ErrInProgress, ctx.Err()))
		}
	}
}

// run executes an effect under a claim that is held, and commits its result. stop
// ends the holding, and held with it.
func (l *Ledger) run(held context.Context, stop func(), e Entry, again bool, effect Effect) (Answer, error) {
	returned := false
	defer func() {
		if !returned { // a panic, which goes on: it may have happened
			stop()
			l.release(held, e.Key, e.Owner, true) //nolint:errcheck // the lease ends by itself
		}
	}()
	result, err := effect(held, Run{Key: e.Key, Receipt: e.Receipt, Again: again})
	returned = true
	gone := held.Err()
	stop()
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		result, err = refused.Result, nil
	}
	if err != nil {
		unsure := again || gone != nil || errors.Is(err, ErrUnsure)
		released := l.release(held, e.Key, e.Owner, unsure)
		if unsure {
			return Answer{}, about(e, errors.Join(ErrUnknown, err, released))
		}
		return Answer{}, errors.Join(err, released)
	}
	data, err := l.encode(result)
	if err != nil { // the effect happened, and what it returned cannot be told
		return Answer{}, about(e, errors.Join(ErrUnknown, err, l.release(held, e.Key, e.Owner, true)))
	}
	return l.commit(held, e, data)
}

// commit stores what happened, although the caller may be gone.
func (l *Ledger) commit(ctx context.Context, e Entry, data []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	var err error
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		err = l.store.Commit(ctx, e.Key, e.Owner, data, l.o.Keeps)
		if err == nil {
			e.Result, e.Done, e.Executions = data, true, 1
			return answer(e, false), nil
		}
		if errors.Is(err, ErrClaimLost) || !wait(ctx, pause) {
			break
		}
	}
	// Somebody took over meanwhile: what that one has committed is the answer.
	if now, lookErr := l.store.Find(ctx, e.Key); lookErr == nil && now.Done && now.Fingerprint == e.Fingerprint {
		return answer(now, true), nil
	}
	return Answer{}, about(e, errors.Join(ErrUnknown, fmt.Errorf("the effect happened, and its result was not stored: %w", err)))
}

// hold renews a claim until stop. The context it returns ends with ErrClaimLost
// as soon as the claim may be somebody else's. asked is when it was asked for.
func (l *Ledger) hold(ctx context.Context, e Entry, asked time.Time) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	ended, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(l.o.Lease / 3)
		defer tick.Stop()
		for until := asked.Add(l.o.Lease * 9 / 10); ; {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			asked := time.Now()
			bounded, done := context.WithTimeout(context.WithoutCancel(ctx), l.o.Lease/3)
			err := l.store.Renew(bounded, e.Key, e.Owner, l.o.Lease, l.o.Keeps)
			done()
			if err == nil {
				until = asked.Add(l.o.Lease * 9 / 10)
			} else if errors.Is(err, ErrClaimLost) || !time.Now().Before(until) {
				cancel(ErrClaimLost)
				return
			}
		}
	}()
	stopped := false
	return held, func() {
		if !stopped {
			stopped = true
			close(quit)
			<-ended
			cancel(nil)
		}
	}
}

// release lets go of a key, although the caller may be gone.
func (l *Ledger) release(ctx context.Context, key, owner string, unsure bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	if err := l.store.Release(ctx, key, owner, unsure); err != nil {
		return fmt.Errorf("release key %q, whose claim ends by itself within its lease: %w", key, err)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
