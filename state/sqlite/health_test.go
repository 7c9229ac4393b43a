package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"junction/state"
	"junction/state/statetest"
)

func TestHealth(t *testing.T) {
	statetest.RunHealth(t, func(t *testing.T) state.HealthStore { return open(t, filepath.Join(t.TempDir(), "state.db")) })
}

func TestAFileFromBeforeHealthWasKeptGetsItsTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t", Workflow: "w", Lineage: "main"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DROP TABLE health"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	minute := time.Now().UTC().Truncate(time.Minute)
	if err := again.PutHealth(t.Context(), []state.HealthSample{{Server: "a", Worker: "w", Minute: minute, Calls: 1}}); err != nil {
		t.Fatal(err)
	}
	kept, err := again.Health(t.Context(), "a", minute, minute.Add(time.Minute))
	if err != nil || len(kept) != 1 {
		t.Errorf("%d samples, %v", len(kept), err)
	}
	if _, err := again.Thread(t.Context(), "t"); err != nil {
		t.Error(err)
	}
}
