package sqlite_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"junction/state/ledger"
	"junction/state/ledger/ledgertest"
	"junction/state/ledger/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
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

func TestAFileIsALedgerStore(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T) func(t *testing.T) ledger.Store {
		path := filepath.Join(t.TempDir(), "sub", "a#b?%20.db")
		return func(t *testing.T) ledger.Store { return open(t, path, nil) }
	})
}
