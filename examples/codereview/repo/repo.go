// Package repo reads a git repository that is not trusted.
//
// Invariant: nothing that the repository says is ever run, and nothing is ever
// fetched. Only plumbing commands that read objects are used, so no hook,
// external diff, text conversion, smudge filter, pager or file system monitor
// has a place to run; the repository's own settings for those that could are
// overridden; the user's and the machine's git configuration are not read; and
// every transport is forbidden, because a missing object of a partial clone
// would otherwise be fetched through a command the repository names.
package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"junction/examples/codereview/scratch"
)

// ErrNoCommits is returned for a repository without a commit.
var ErrNoCommits = errors.New("the repository has no commits yet: commit something to review")

// Repo is an open repository. It is safe for concurrent use.
type Repo struct {
	dir    string
	config string // stands in for the user's git configuration
}

// Open opens the repository that dir lies in. Close it to remove its one
// temporary file.
func Open(ctx context.Context, dir string) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", dir, err)
	}
	switch info, err := os.Stat(abs); {
	case err != nil:
		return nil, fmt.Errorf("repository %q: %w", dir, err)
	case !info.IsDir():
		return nil, fmt.Errorf("repository %q is not a directory", dir)
	}
	config, err := writeConfig()
	if err != nil {
		return nil, fmt.Errorf("open repository %q: %w", dir, err)
	}
	r := &Repo{dir: abs, config: config}
	if _, err := r.output(ctx, "rev-parse", "--git-dir"); err != nil {
		return nil, errors.Join(fmt.Errorf("%q is not a git repository: %w", dir, err), r.Close())
	}
	return r, nil
}

// Close removes the repository's temporary file.
func (r *Repo) Close() error { return os.Remove(r.config) }

// Dir is the absolute path the repository was opened at.
func (r *Repo) Dir() string { return r.dir }

// Commit resolves a revision to the id of a commit. Text that git could take
// for an option is refused.
func (r *Repo) Commit(ctx context.Context, revision string) (string, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%q is not a revision", revision)
	}
	out, err := r.output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("no commit %q in %s", revision, r.dir)
	}
	return strings.TrimSpace(string(out)), nil
}

// Head is the id of the last commit.
func (r *Repo) Head(ctx context.Context) (string, error) {
	id, err := r.Commit(ctx, "HEAD")
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("%s: %w", r.dir, ErrNoCommits)
	}
	return id, err
}

// Parent is the id of a commit's first parent; "" for a root commit and where a
// shallow clone ends.
func (r *Repo) Parent(ctx context.Context, commit string) (string, error) {
	id, err := r.Commit(ctx, commit+"^1")
	if err != nil {
		return "", ctx.Err()
	}
	return id, nil
}

// writeConfig writes what takes the place of the user's git configuration. The
// owner check is switched off, because what it guards against, running what a
// stranger's configuration says, cannot happen here; it would only refuse
// repositories mounted or cloned by another account.
func writeConfig() (string, error) {
	f, err := scratch.File()
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("[safe]\n\tdirectory = *\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// overrides take precedence over the repository's own configuration.
var overrides = []string{
	"--no-pager",
	"--no-replace-objects",
	"--literal-pathspecs",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.untrackedCache=false",
	"-c", "core.quotePath=false",
	"-c", "diff.external=",
	"-c", "diff.renameLimit=1000",
	"-c", "protocol.allow=never",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
}

func (r *Repo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, overrides...), args...)...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + os.DevNull,
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + r.config,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_ADVICE=0",
	}
	if root := os.Getenv("SYSTEMROOT"); root != "" { // Windows starts nothing without it
		cmd.Env = append(cmd.Env, "SYSTEMROOT="+root)
	}
	return cmd
}

func (r *Repo) output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := r.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed, or not in PATH")
	}
	return nil, fmt.Errorf("git %s: %s: %w", args[0], strings.TrimSpace(stderr.String()), err)
}
