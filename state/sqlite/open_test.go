package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"junction/state"
	"junction/state/sqlite"
)

func TestOpenMakesDirectoryAndPrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b", "ü?#%41", "state.db")
	s := open(t, path)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode().Perm())
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(path + beside); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s is %v, want 0600", beside, info.Mode().Perm())
		}
	}
}

func TestWhatWasCommittedIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := newAppending(t, s, "t")
	a.steps(t, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "late"}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	snap, err := open(t, path).Load(t.Context(), "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	if snap.Seq != 2 || len(snap.Logs["log"]) != 1 || !bytes.Equal(snap.Logs["log"][0], item) {
		t.Errorf("after reopening: seq %d, %d items", snap.Seq, len(snap.Logs["log"]))
	}
}

// written is a file with a thread in it.
func written(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := newAppending(t, s, "t")
	a.steps(t, 30)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, edit(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestForeignOrDamagedFileIsRefusedAndNotTouched(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T) string
		want error
	}{
		"a text file": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "notes.txt")
			if err := os.WriteFile(path, []byte("dear diary"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, state.ErrCorrupt},
		"another program's database": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "other.db")
			run(t, path, "CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
			return path
		}, state.ErrCorrupt},
		"a newer version's": {func(t *testing.T) string {
			path := written(t)
			run(t, path, "PRAGMA user_version = 99")
			return path
		}, state.ErrNewer},
		"cut short": {func(t *testing.T) string {
			path := written(t)
			change(t, path, func(b []byte) []byte { return b[:len(b)/2] })
			return path
		}, state.ErrCorrupt},
		"cut within its header": {func(t *testing.T) string {
			path := written(t)
			change(t, path, func(b []byte) []byte { return b[:40] })
			return path
		}, state.ErrCorrupt},
		"overwritten in the middle": {func(t *testing.T) string {
			path := written(t)
			change(t, path, func(b []byte) []byte {
				copy(b[8192:], bytes.Repeat([]byte{0xa5}, 3*8192))
				return b
			})
			return path
		}, state.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.make(t)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path, nil)
			if err == nil {
				err = s.Close()
				t.Fatalf("opened (closing gave %v)", err)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("error is %v, want %v and the file's name", err, c.want)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
				t.Errorf("something was left beside the file: %v (%v)", entries, err)
			}
		})
	}
}

func TestOpenFailsWhereNothingCanBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(file, "state.db"), nil); err == nil {
		t.Error("opened a database below a file")
	}
	if _, err := sqlite.Open(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("opened a directory")
	}
}

func TestDeletedThreadLeavesNoRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	a := newAppending(t, s, "t")
	large := []byte(`"` + strings.Repeat("y", state.LeafThreshold) + `"`)
	rec := state.Record{Seq: 1, Hop: "h", Round: 1, Attempt: 1, Status: state.CallSuccess, Result: large}
	for _, err := range []error{
		s.PutWrites(t.Context(), a.lease, 1, state.TaskWrites{Task: "x", Writes: []state.Write{{Value: large}}}, []state.Record{rec}),
		s.PutInterrupt(t.Context(), a.lease, 1, state.Interrupt{ID: "q", Value: large}, nil),
		s.PutSession(t.Context(), a.lease, state.Session{ID: "s"}),
		s.Release(t.Context(), a.lease),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := func() map[string]int {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		counts := map[string]int{}
		for _, table := range []string{"threads", "commits", "writes", "interrupts", "results", "records", "sessions", "blobs"} {
			var n int
			if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
				t.Fatal(err)
			}
			counts[table] = n
		}
		return counts
	}
	for table, n := range rows() {
		if n != 1 {
			t.Errorf("table %s has %d rows, want 1 (the large value is stored once)", table, n)
		}
	}
	if err := s.DeleteThread(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	for table, n := range rows() {
		if n != 0 {
			t.Errorf("table %s keeps %d rows", table, n)
		}
	}
}

func TestPruneGoesThroughMoreThreadsThanOneTransactionTakes(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	const n = 230
	for i := range n {
		id := string(rune('a'+i%26)) + strings.Repeat("x", i)
		if _, err := s.CreateThread(t.Context(), state.NewThread{ID: id}); err != nil {
			t.Fatal(err)
		}
		if err := s.RequestCancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Prune(t.Context(), state.Retention{Stopped: 1})
	if err != nil || got != n {
		t.Fatalf("pruned %d threads (%v), want %d", got, err, n)
	}
}
