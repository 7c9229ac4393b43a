// Package ledgertest is the contract of ledger stores, as tests that every one
// of them passes.
package ledgertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/state/ledger"
)

// Fresh makes an empty store and returns what opens one more connection to it.
type Fresh func(t *testing.T) (connect func(t *testing.T) ledger.Store)

// Run runs the contract.
func Run(t *testing.T, fresh Fresh) {
	for _, c := range []struct {
		name string
		test func(*testing.T, func(*testing.T) ledger.Store)
	}{
		{"a free key is given to one owner", oneOwner},
		{"an owner that asks twice has claimed once", askedTwice},
		{"a claim is taken over when its lease has ended", takeOver},
		{"a claim is not taken over with another fingerprint, or unasked", notTakenOver},
		{"a renewed claim is not taken over", renewed},
		{"only the owner commits, and twice is once", commitOnce},
		{"a key is freed by its owner alone", release},
		{"a result that was returned can be changed", aliasing},
		{"an entry is forgotten when it has been kept long enough", expiry},
		{"a key of any characters is a key of its own", anyKey},
		{"an operation whose context has ended fails", cancelled},

		{"a key runs once and is replayed", replay},
		{"a key with other arguments is refused, whatever its state", mismatch},
		{"a failed effect frees the key", failure},
		{"a refusal for good is a result", refusal},
		{"a key under way is in progress", inProgress},
		{"an effect that does not know closes the key until it is settled", unsure},
		{"an effect whose caller left closes the key", abandoned},
		{"a panic closes the key", panicked},
		{"a dead owner's key is unknown", dead},
		{"a dead owner's idempotent effect runs again with its receipt", again},
		{"a refusal of an idempotent effect holds for its dead owner too", refusedAgain},
		{"a dead owner's key is reconciled by the hook", reconciled},
		{"a long effect keeps its claim", long},
		{"an owner that lost its claim answers what was committed", overtaken},
		{"a result that cannot be stored closes the key", unstorable},
		{"secrets are in no answer and no entry", secrets},
		{"a race over connections runs once", race},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, fresh(t))
		})
	}
}

const (
	ample = time.Minute           // a lease that does not end within a test
	brief = 50 * time.Millisecond // one that does
	soon  = 20 * time.Second      // how long is waited for what must come
)

func claim(key, owner string, lease time.Duration) ledger.Claim {
	return ledger.Claim{Key: key, Fingerprint: "f", Owner: owner, Receipt: "receipt of " + owner, Lease: lease, Keeps: time.Hour}
}

func newKey() string { return "k-" + uuid.NewString() }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func take(t *testing.T, s ledger.Store, c ledger.Claim, want bool) ledger.Entry {
	t.Helper()
	e, mine, err := s.Claim(t.Context(), c)
	must(t, err)
	if mine != want {
		t.Fatalf("claim by %s: mine is %v, want %v; %+v", c.Owner, mine, want, e)
	}
	return e
}

// until waits for something that time brings.
func until(t *testing.T, what string, came func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(soon); !came(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("it did not come: %s", what)
		}
	}
}

// ended waits until nobody's lease of the key is left.
func ended(t *testing.T, s ledger.Store, key string) {
	t.Helper()
	until(t, "the end of the lease", func() bool {
		e, err := s.Find(t.Context(), key)
		must(t, err)
		return !e.Live
	})
}

func newLedger(t *testing.T, s ledger.Store, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.New(s, &o)
	must(t, err)
	return l
}

func call(key string) ledger.Call { return ledger.Call{Key: key, Fingerprint: "f"} }

// never is an effect that must not run.
func never(t *testing.T) ledger.Effect {
	return func(context.Context, ledger.Run) (any, error) {
		t.Error("the effect ran")
		return nil, errors.New("it must not run")
	}
}

func gives(result any) ledger.Effect {
	return func(context.Context, ledger.Run) (any, error) { return result, nil }
}
