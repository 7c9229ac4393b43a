// Package repotest makes git repositories for tests.
package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Repo is a repository in a temporary directory.
type Repo struct {
	Dir string
	t   testing.TB
}

// New makes an empty repository.
func New(t testing.TB) *Repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := &Repo{Dir: t.TempDir(), t: t}
	r.Git("init", "--quiet", "--initial-branch=main")
	return r
}

// Git runs a git command in the repository and returns its output.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Write writes a file, name with slashes.
func (r *Repo) Write(name, content string) {
	r.t.Helper()
	path := r.path(name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// WriteLarge writes a file of the given size in bytes that holds only spaces.
func (r *Repo) WriteLarge(name string, size int) {
	r.t.Helper()
	content := make([]byte, size)
	for i := range content {
		content[i] = ' '
	}
	r.Write(name, string(content))
}

// Symlink makes a symbolic link.
func (r *Repo) Symlink(target, name string) {
	r.t.Helper()
	if err := os.Symlink(target, r.path(name)); err != nil {
		r.t.Skipf("no symbolic links here: %v", err)
	}
}

// Remove deletes a file.
func (r *Repo) Remove(name string) {
	r.t.Helper()
	if err := os.Remove(r.path(name)); err != nil {
		r.t.Fatal(err)
	}
}

// Commit commits everything and returns the commit's id.
func (r *Repo) Commit() string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--message", "Change")
	return r.Git("rev-parse", "HEAD")[:40]
}

func (r *Repo) path(name string) string {
	r.t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	return path
}
