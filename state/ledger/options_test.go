package ledger_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"junction/state/ledger"
	"junction/state/ledger/sqlite"
)

// plain is a store without transactions.
type plain struct{ ledger.Store }

func openFile(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestOptionsThatCannotBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "l.db"))
	for name, c := range map[string]struct {
		store ledger.Store
		o     ledger.Options
	}{
		"inside of no transaction": {plain{s}, ledger.Options{Place: ledger.Inside}},
		"a lease of no time":       {s, ledger.Options{Lease: time.Millisecond}},
		"a negative lease":         {s, ledger.Options{Lease: -time.Second}},
		"kept less than a lease":   {s, ledger.Options{Keeps: time.Second}},
		"results of less than no":  {s, ledger.Options{Limit: -1}},
		"a path of no form":        {s, ledger.Options{Secrets: []string{"a[1]"}}},
	} {
		if _, err := ledger.New(c.store, &c.o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestAnErrorAboutAKeyIsOneLine(t *testing.T) {
	t.Parallel()
	l, err := ledger.New(openFile(t, filepath.Join(t.TempDir(), "l.db")), nil)
	if err != nil {
		t.Fatal(err)
	}
	upstream := errors.New("the upstream broke")
	_, err = l.Do(t.Context(), ledger.Call{Key: "a\nb"}, func(context.Context, ledger.Run) (any, error) {
		return nil, errors.Join(upstream, ledger.ErrUnsure)
	})
	if !errors.Is(err, upstream) || !errors.Is(err, ledger.ErrUnknown) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q", err)
	}
}

func TestAKeyThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	l, err := ledger.New(openFile(t, filepath.Join(t.TempDir(), "l.db")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "\xff", strings.Repeat("k", ledger.MaxKey+1)} {
		_, err := l.Do(t.Context(), ledger.Call{Key: key}, func(context.Context, ledger.Run) (any, error) {
			t.Error("it ran")
			return nil, nil
		})
		if !errors.Is(err, ledger.ErrNoKey) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}
