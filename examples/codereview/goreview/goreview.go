// Package goreview reviews Go with the analysis passes of go vet, and nilness
// when it goes deep, on the whole package a file belongs to at its revision.
//
// Invariant: the repository under review is foreign code, and none of it runs.
// The revision's sources are copied out of git to a directory of our own; the
// go command only lists packages there, with downloads, version control, cgo,
// flags, workspaces and other toolchains switched off; everything is
// type-checked from source in this process. Nothing is compiled or linked.
//
// What one call loads serves the next ones: a revision is copied once, a module
// is listed once, a dependency is checked once without its function bodies, a
// package is analysed once.
package goreview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"junction/examples/codereview/reviewer"
)

// maxSnapshots bounds the revisions kept at once.
const maxSnapshots = 4

// Options are the choices of New; nil and the zero value are valid.
type Options struct {
	Depth reviewer.Depth // "": shallow; deep adds the passes that need SSA form
}

// Reviewer analyses Go packages. It is safe for concurrent use.
type Reviewer struct {
	deep bool

	mu        sync.Mutex
	snapshots []*snapshot // most recently used last
}

// New returns a Go reviewer. Close it to remove what it wrote to disk.
func New(opts *Options) *Reviewer {
	return &Reviewer{deep: opts != nil && opts.Depth == reviewer.Deep}
}

// Name implements reviewer.Reviewer.
func (*Reviewer) Name() string { return "go" }

// Languages implements reviewer.Reviewer.
func (*Reviewer) Languages() []string { return []string{reviewer.Go} }

// Close implements reviewer.Reviewer. Reviews in flight must have ended.
func (v *Reviewer) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for _, s := range v.snapshots {
		errs = append(errs, s.remove())
	}
	v.snapshots = nil
	return errors.Join(errs...)
}

// Review implements reviewer.Reviewer. Without a repository and revision, or
// when the code is not what the revision holds, the file is reviewed alone.
func (v *Reviewer) Review(ctx context.Context, r reviewer.Request) (reviewer.Review, error) {
	s, err := v.open(ctx, r)
	if err != nil {
		return reviewer.Review{}, err
	}
	defer v.release(s)
	found, err := s.review(ctx, sourcePath(r), r.Code)
	if err != nil {
		return reviewer.Review{}, fmt.Errorf("review %s: %w", r.Path(), err)
	}
	for i := range found {
		found[i].Path = r.Path()
	}
	return reviewer.Conclude(v.Name(), reviewer.Within(r.Code, found)), nil
}

func sourcePath(r reviewer.Request) string {
	if r.Context.Path == "" {
		return "code.go"
	}
	return path.Clean(r.Context.Path)
}

// open returns the snapshot a request is about, in use until it is released.
func (v *Reviewer) open(ctx context.Context, r reviewer.Request) (*snapshot, error) {
	c := r.Context
	if c.Repo == "" || c.Revision == "" || c.Path == "" {
		return v.alone(r)
	}
	s := v.snapshot(c.Repo, c.Revision)
	if err := s.export(ctx); err != nil {
		v.release(s)
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(sourcePath(r))))
	if err == nil && string(content) == r.Code {
		return s, nil
	}
	v.release(s)
	return v.alone(r)
}

// snapshot finds or adds a revision and drops the oldest that is not in use.
func (v *Reviewer) snapshot(repo, revision string) *snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.IndexFunc(v.snapshots, func(s *snapshot) bool { return s.repo == repo && s.revision == revision })
	if i < 0 {
		v.snapshots = append(v.snapshots, newSnapshot(repo, revision, v.deep))
		i = len(v.snapshots) - 1
	}
	s := v.snapshots[i]
	s.uses++
	v.snapshots = append(slices.Delete(v.snapshots, i, i+1), s)
	return s
}

func (v *Reviewer) alone(r reviewer.Request) (*snapshot, error) {
	s := newSnapshot("", "", v.deep)
	s.uses, s.transient = 1, true
	if err := s.fill(sourcePath(r), []byte(r.Code)); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// release gives a snapshot back. What could not be removed from the temporary
// directory is tried again by Close.
func (v *Reviewer) release(s *snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s.uses--
	if s.transient && s.remove() != nil {
		v.snapshots = append([]*snapshot{s}, v.snapshots...)
	}
	for i := 0; len(v.snapshots) > maxSnapshots && i < len(v.snapshots); {
		if old := v.snapshots[i]; old.uses > 0 || old.remove() != nil {
			i++
			continue
		}
		v.snapshots = slices.Delete(v.snapshots, i, i+1)
	}
}
