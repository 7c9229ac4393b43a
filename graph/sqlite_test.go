package graph_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
	"junction/state/sqlite"
)

func newSQLite(t testing.TB, path string) state.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t testing.TB, s state.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestATypedThreadGoesOnInAFileThatWasClosed(t *testing.T) {
	fail := true
	g := typedReview(t, &fail)
	path := filepath.Join(t.TempDir(), "state.db")
	store := newSQLite(t, path)
	res, err := g.Run(t.Context(), review{Repo: "r"}, graph.RunOptions{Store: store, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res.Result, state.StatusFailed)
	closeStore(t, store)

	fail = false
	store = newSQLite(t, path)
	defer closeStore(t, store)
	res, err = g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res.Result, state.StatusCompleted)
	var files []string
	for _, f := range res.State.Findings {
		files = append(files, f.File)
	}
	if d := cmp.Diff([]string{"r/a.go", "r/b.go"}, files); d != "" || res.State.Cost != 4 {
		t.Fatalf("cost %d\n%s", res.State.Cost, d)
	}
}
