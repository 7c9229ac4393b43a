package goreview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"junction/examples/codereview/repo"
	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/scratch"
)

// The limits of one revision. Beyond them, files are reviewed one by one.
const (
	maxSources     = 50_000
	maxSourceBytes = 512 << 20
	maxSourceFile  = 16 << 20
)

// snapshot is the Go sources of one revision and what was found out about them.
type snapshot struct {
	repo, revision string
	deep           bool
	uses           int  // guarded by Reviewer.mu
	transient      bool // of one request

	// turn is held by the one call that works on what follows: it takes a token,
	// so that a caller whose context ends does not have to wait.
	turn    chan struct{}
	dir     string             // "": not exported yet
	modules map[string]*module // by directory from dir, with slashes
}

func newSnapshot(repo, revision string, deep bool) *snapshot {
	return &snapshot{
		repo: repo, revision: revision, deep: deep,
		turn: make(chan struct{}, 1), modules: make(map[string]*module),
	}
}

func (s *snapshot) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *snapshot) unlock() { <-s.turn }

func (s *snapshot) remove() error {
	if s.dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	s.dir = ""
	return nil
}

// export copies the revision's sources out of git, once; again when a cleaner
// of temporary files has taken them away.
func (s *snapshot) export(ctx context.Context) (err error) {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if s.dir != "" {
		if scratch.Keep(s.dir) == nil {
			return nil
		}
		s.dir, s.modules = "", make(map[string]*module)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("copy revision %s: %w", s.revision, err), s.remove())
		}
	}()
	if err := s.makeDir(); err != nil {
		return err
	}
	r, err := repo.Open(ctx, s.repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	commit, err := r.Commit(ctx, s.revision)
	if err != nil {
		return err
	}
	entries, err := r.Tree(ctx, commit)
	if err != nil {
		return err
	}
	blobs, err := r.Blobs(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blobs.Close()) }()
	return s.copySources(entries, blobs)
}

func (s *snapshot) copySources(entries []repo.Change, blobs *repo.Blobs) error {
	files, bytes := 0, int64(0)
	for _, e := range entries {
		if e.Kind != repo.File || !wanted(e.Path) {
			continue
		}
		size, err := blobs.Size(e.Blob)
		if err != nil {
			return err
		}
		if size > maxSourceFile {
			continue
		}
		if files, bytes = files+1, bytes+size; files > maxSources || bytes > maxSourceBytes {
			return nil
		}
		content, err := blobs.Read(e.Blob)
		if err != nil {
			return err
		}
		if err := s.write(e.Path, content); err != nil {
			return err
		}
	}
	return nil
}

// wanted tells what listing and type-checking read.
func wanted(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\x00\n") {
		return false
	}
	switch base := path.Base(name); {
	case base == "go.mod", base == "go.sum", name == "vendor/modules.txt", strings.HasSuffix(name, "/vendor/modules.txt"):
		return true
	default:
		return strings.HasSuffix(base, ".go")
	}
}

// fill makes a snapshot of one file.
func (s *snapshot) fill(name string, content []byte) error {
	if !wanted(name) {
		name = "code.go"
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	return s.write(name, content)
}

func (s *snapshot) makeDir() (err error) {
	s.dir, err = scratch.Dir()
	return err
}

func (s *snapshot) write(name string, content []byte) error {
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if path.Base(name) == "go.mod" {
		content = localVersion(content)
	}
	return os.WriteFile(file, content, 0o600)
}

// review returns the findings of one file, under the name it was given.
func (s *snapshot) review(ctx context.Context, name, code string) ([]reviewer.Finding, error) {
	if !wanted(name) {
		name = "code.go"
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if found := syntax(name, code); len(found) > 0 {
		return found, nil // the compiler would stop here too
	}
	root, err := s.moduleRoot(name)
	if err != nil {
		return nil, err
	}
	m := s.modules[root]
	if m == nil {
		if m, err = load(ctx, s.dir, root); err != nil {
			return nil, err
		}
		s.modules[root] = m
	}
	return m.findings(ctx, name, s.deep)
}

// moduleRoot is the directory of the go.mod a file belongs to. A tree without
// one is given one.
func (s *snapshot) moduleRoot(name string) (string, error) {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		_, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(dir), "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == "." {
			return ".", s.write("go.mod", []byte("module reviewed\n\ngo "+language(runtimeVersion)+"\n"))
		}
	}
}
