package static

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindLooksBesideTheWorkflowThenInTheConfigurationDirectory(t *testing.T) {
	beside := t.TempDir()
	home := t.TempDir()
	write := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mcpServers: {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write(filepath.Join(home, "junction", FileName))
	near := write(filepath.Join(beside, FileName))
	named := write(filepath.Join(t.TempDir(), "other.json"))
	for _, c := range []struct{ name, workflow, flag, want string }{
		{"beside the workflow", filepath.Join(beside, "review.yaml"), "", near},
		{"the flag wins", filepath.Join(beside, "review.yaml"), named, named},
		{"in the configuration directory when there is none beside", filepath.Join(t.TempDir(), "review.yaml"), "", own},
		{"in the configuration directory without a workflow", "", "", own},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := find(c.workflow, c.flag, home)
			if err != nil || got != c.want {
				t.Errorf("find(%q, %q) = %q, %v; want %q", c.workflow, c.flag, got, err, c.want)
			}
		})
	}
}

func TestFindNeverLooksInTheWorkingDirectory(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	if err := os.WriteFile(FileName, []byte("mcpServers: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	got, err := find(filepath.Join(elsewhere, "w.yaml"), "", elsewhere)
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("find = %q, %v; want a NotFoundError", got, err)
	}
	if len(missing.Looked) != 2 || !strings.Contains(err.Error(), "--config") {
		t.Errorf("the error does not say where it looked and what to do: %v", err)
	}
}

func TestFindSaysWhyANamedFileCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	if _, err := find("", filepath.Join(dir, "absent.yaml"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if _, err := find("", dir, ""); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	loop := filepath.Join(dir, FileName)
	if err := os.Symlink(loop, loop); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if got, err := find(filepath.Join(dir, "w.yaml"), "", t.TempDir()); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that cannot be reached was passed over: %q, %v", got, err)
	}
}
