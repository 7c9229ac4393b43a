package ledger_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"junction/state/ledger"
	"junction/state/redis/redistest"
)

// survivor is the ledger of a process that lives on.
func survivor(t *testing.T, o order) *ledger.Ledger {
	t.Helper()
	l, shut, err := o.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shut(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestAKeyInsideIsFreeOrCommittedAfterAKill(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"before the effect", "after the effect", "after the commit"} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			o := order{File: filepath.Join(t.TempDir(), "l.db"), Place: ledger.Inside, Key: "k", Stop: stop}
			receipt := o.kill(t)
			l := survivor(t, o)
			o.Stop = ""
			a, err := l.Do(t.Context(), o.call(), o.effect)
			if err != nil {
				t.Fatal(err)
			}
			if committed := stop == "after the commit"; a.Replayed != committed || (a.Receipt == receipt) != committed {
				t.Errorf("%+v; the victim's receipt was %s", a, receipt)
			}
			var effects []string
			err = readEffects(t, o.File, &effects)
			if err != nil || len(effects) != 1 || effects[0] != a.Receipt {
				t.Errorf("effects %v, %v; the receipt is %s", effects, err, a.Receipt)
			}
		})
	}
}

func readEffects(t *testing.T, file string, effects *[]string) error {
	t.Helper()
	rows, err := openFile(t, file).Reader().QueryContext(t.Context(), "SELECT receipt FROM effect")
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // only read from
	for rows.Next() {
		var receipt string
		if err := rows.Scan(&receipt); err != nil {
			return err
		}
		*effects = append(*effects, receipt)
	}
	return rows.Err()
}

func TestAKeyElsewhereIsUnknownAfterAKill(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]order{
		"in a file": {File: filepath.Join(t.TempDir(), "l.db")},
		"in Redis":  {Addr: redistest.Shared(t).Addr()},
	} {
		for _, stop := range []string{"before the effect", "after the effect", "after the commit"} {
			t.Run(name+" "+stop, func(t *testing.T) {
				t.Parallel()
				o := o
				o.Key, o.Stop = uuid.NewString(), stop
				receipt := o.kill(t)
				l := survivor(t, o)
				a, err := l.Do(t.Context(), o.call(), func(context.Context, ledger.Run) (any, error) {
					t.Error("it ran a second time")
					return nil, nil
				})
				if stop == "after the commit" {
					if err != nil || !a.Replayed || a.Receipt != receipt {
						t.Errorf("%+v, %v", a, err)
					}
					return
				}
				about, ok := errors.AsType[*ledger.KeyError](err)
				if !errors.Is(err, ledger.ErrUnknown) || !ok || about.Receipt != receipt {
					t.Errorf("%+v, %v; the victim's receipt was %s", a, err, receipt)
				}
			})
		}
	}
}

func TestAnIdempotentEffectRunsAgainWithItsReceiptAfterAKill(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]order{
		"in a file": {File: filepath.Join(t.TempDir(), "l.db")},
		"in Redis":  {Addr: redistest.Shared(t).Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Place, o.Key, o.Stop = ledger.Idempotent, uuid.NewString(), "after the effect"
			receipt := o.kill(t)
			var told ledger.Run
			a, err := survivor(t, o).Do(t.Context(), o.call(), func(_ context.Context, r ledger.Run) (any, error) {
				told = r
				return r.Receipt, nil
			})
			if err != nil || a.Replayed || a.Receipt != receipt {
				t.Errorf("%+v, %v; the victim's receipt was %s", a, err, receipt)
			}
			if told != (ledger.Run{Key: o.Key, Receipt: receipt, Again: true}) {
				t.Errorf("the effect was told %+v", told)
			}
		})
	}
}
