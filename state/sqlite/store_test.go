package sqlite_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"junction/state"
	"junction/state/sqlite"
	"junction/state/statetest"
)

func verify(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string) *sqlite.Store {
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

func TestStore(t *testing.T) {
	statetest.Run(t, func(t *testing.T) state.Store { return open(t, filepath.Join(t.TempDir(), "state.db")) })
}
