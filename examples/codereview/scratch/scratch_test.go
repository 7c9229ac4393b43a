package scratch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOnlyWhatNobodyUsedForADayIsSweptUp(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	left, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "a.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(temp, "another")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * stale)
	for _, dir := range []string{left, used, foreign} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := Keep(used); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(); err != nil {
		t.Fatal(err)
	}
	if err := Keep(left); err == nil {
		t.Error("what a killed server left is still there")
	}
	for _, dir := range []string{used, foreign} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}
