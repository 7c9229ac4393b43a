package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"junction/examples/codereview/ledger"
)

func open(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func total(t *testing.T, l *ledger.Ledger) int {
	t.Helper()
	e, err := l.Executions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e.Total
}

func TestAKeyIsExecutedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "l.db")
	file := filepath.Join(t.TempDir(), "out", "report.md")
	p := ledger.Publication{Text: "# Report\n", Path: file}
	l := open(t, path)
	first, err := l.Publish(t.Context(), "k", p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != p.Text {
		t.Errorf("file %q, %v", got, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*ledger.Ledger{"the same process": l, "another one": open(t, path)} {
		again, err := l.Publish(t.Context(), "k", p)
		if err != nil || again != first {
			t.Errorf("%s: receipt %+v, %v; want %+v", name, again, err, first)
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("the file was written a second time")
	}
	if n := total(t, l); n != 1 {
		t.Errorf("%d executions", n)
	}
}

func TestAKeyWithOtherArgumentsIsAConflict(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	if _, err := l.Publish(t.Context(), "k", ledger.Publication{Text: "ab"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []ledger.Publication{{Text: "b", Path: "a"}, {Text: "a"}} {
		if _, err := l.Publish(t.Context(), "k", p); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%+v: %v, want a conflict", p, err)
		}
	}
	if _, err := l.Publish(t.Context(), "", ledger.Publication{Text: "ab"}); err == nil {
		t.Error("published without a key")
	}
	if n := total(t, l); n != 1 {
		t.Errorf("%d executions", n)
	}
}

func TestAFailedPublicationLeavesNoEntry(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	dir := t.TempDir() // a directory cannot be replaced by the file
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Publish(t.Context(), "k", ledger.Publication{Text: "a", Path: dir}); err == nil {
		t.Fatal("published over a directory")
	}
	if n := total(t, l); n != 0 {
		t.Errorf("%d executions", n)
	}
	if _, err := l.Publish(t.Context(), "k", ledger.Publication{Text: "a"}); err != nil {
		t.Errorf("the key cannot be used again: %v", err)
	}
}

func TestManyAtOnceExecuteOnceAndAllGetItsReceipt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	ledgers := []*ledger.Ledger{open(t, path), open(t, path), open(t, path)}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			r, err := ledgers[i%3].Publish(context.WithoutCancel(t.Context()), "k", ledger.Publication{Text: "a"})
			if err != nil || r.ID != 1 {
				t.Errorf("receipt %+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if n := total(t, ledgers[0]); n != 1 {
		t.Errorf("%d executions", n)
	}
}

func TestALedgerMayLieAtAPathOfAnyCharacters(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a#1", "a?b", "a%20b", "a b", "größe"} {
		path := filepath.Join(dir, name, "ledger.db")
		l, err := ledger.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Publish(t.Context(), "k", ledger.Publication{Text: name}); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the ledger lies elsewhere: %v", err)
		}
	}
}
