package ledgertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"junction/state/ledger"
)

// abandon leaves a claim as an owner does that dies.
func abandon(t *testing.T, s ledger.Store) (key string) {
	t.Helper()
	key = newKey()
	take(t, s, claim(key, "dead", brief), true)
	return key
}

func dead(t *testing.T, connect connector) {
	s := connect(t)
	l := newLedger(t, s, ledger.Options{Wait: soon})
	key := abandon(t, s)
	_, err := l.Do(t.Context(), call(key), never(t)) // waits for the lease's end
	wantErr(t, err, ledger.ErrUnknown)
	if about, ok := errors.AsType[*ledger.KeyError](err); !ok || about.Receipt != "receipt of dead" {
		t.Errorf("%+v", err)
	}
}

func again(t *testing.T, connect connector) {
	s := connect(t)
	l := newLedger(t, s, ledger.Options{Place: ledger.Idempotent, Wait: soon})
	key := abandon(t, s)
	var told ledger.Run
	// A takeover that fails does not free what the dead owner may have done.
	_, err := l.Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) { return nil, errEffect })
	wantErr(t, err, ledger.ErrUnknown)
	_, err = l.Do(t.Context(), ledger.Call{Key: key, Fingerprint: "another"}, never(t))
	wantErr(t, err, ledger.ErrMismatch)
	a, err := l.Do(t.Context(), call(key), func(_ context.Context, r ledger.Run) (any, error) {
		told = r
		return "done", nil
	})
	if err != nil || a.Replayed || a.Receipt != "receipt of dead" {
		t.Errorf("%+v, %v", a, err)
	}
	if told != (ledger.Run{Key: key, Receipt: "receipt of dead", Again: true}) {
		t.Errorf("the effect was told %+v", told)
	}
	if e, err := s.Find(t.Context(), key); err != nil || e.Claims != 3 || e.Executions != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

func refusedAgain(t *testing.T, connect connector) {
	s := connect(t)
	l := newLedger(t, s, ledger.Options{Place: ledger.Idempotent, Wait: soon})
	key := abandon(t, s)
	a, err := l.Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) {
		return nil, &ledger.RefusedError{Result: "none left"}
	})
	if err != nil || string(a.Result) != `"none left"` {
		t.Errorf("%+v, %v", a, err)
	}
}

func reconciled(t *testing.T, connect connector) {
	s := connect(t)
	var verdict ledger.Verdict
	var fault error
	var asked []string
	l := newLedger(t, s, ledger.Options{Wait: soon, Reconcile: func(_ context.Context, e ledger.Entry) (ledger.Verdict, error) {
		asked = append(asked, e.Receipt)
		return verdict, fault
	}})
	happened, free := abandon(t, s), abandon(t, s)

	fault = errEffect
	_, err := l.Do(t.Context(), call(happened), never(t))
	wantErr(t, err, ledger.ErrUnknown)
	wantErr(t, err, errEffect)
	fault = nil
	_, err = l.Do(t.Context(), call(happened), never(t))
	wantErr(t, err, ledger.ErrUnknown)

	verdict = ledger.Verdict{Outcome: ledger.Happened, Result: "found"}
	a, err := l.Do(t.Context(), call(happened), never(t))
	if err != nil || !a.Replayed || string(a.Result) != `"found"` || a.Receipt != "receipt of dead" {
		t.Errorf("%+v, %v", a, err)
	}
	verdict = ledger.Verdict{Outcome: ledger.Never}
	if a, err = l.Do(t.Context(), call(free), gives("now")); err != nil || a.Replayed || string(a.Result) != `"now"` {
		t.Errorf("%+v, %v", a, err)
	}
	if len(asked) != 4 || asked[0] != "receipt of dead" {
		t.Errorf("asked about %v", asked)
	}
}

// overtaken has an owner lose its key while its effect runs, as after a long pause
// of its process.
func overtaken(t *testing.T, connect connector) {
	one, other := connect(t), connect(t)
	a := newLedger(t, one, ledger.Options{Place: ledger.Idempotent, Lease: 90 * time.Millisecond})
	key := newKey()
	got, err := a.Do(t.Context(), call(key), func(ctx context.Context, r ledger.Run) (any, error) {
		e, err := other.Find(t.Context(), key)
		must(t, err)
		must(t, other.Release(t.Context(), key, e.Owner, true)) // its lease ends
		c := claim(key, "b", ample)
		c.TakeOver = true
		take(t, other, c, true)
		must(t, other.Commit(t.Context(), key, "b", []byte(`"theirs"`), time.Hour))
		select {
		case <-ctx.Done():
		case <-time.After(soon):
			t.Error("the effect of a lost claim is not told")
		}
		if !errors.Is(context.Cause(ctx), ledger.ErrClaimLost) {
			t.Errorf("told %v", context.Cause(ctx))
		}
		return "ours", nil
	})
	if err != nil || string(got.Result) != `"theirs"` || !got.Replayed {
		t.Errorf("%s, %v", got.Result, err)
	}
}
