// Package gitdiff says what a repository's last change touched: the files to
// review with their contents, and the files that are left out with the reason.
package gitdiff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"junction/examples/codereview/repo"
	"junction/examples/codereview/reviewer"
)

// The limits of one answer. What goes beyond them is skipped with a reason.
const (
	maxFile  = 1 << 20 // bytes of one file
	maxTotal = 8 << 20 // bytes of all files
	maxFiles = 4000
)

// Diff is the last change of a repository.
type Diff struct {
	Repo     string    `json:"repo"`     // absolute path
	Revision string    `json:"revision"` // commit that was read
	Base     string    `json:"base"`     // its first parent; "": there is none here, and the whole tree counts as added
	Files    []File    `json:"files"`    // by path
	Skipped  []Skipped `json:"skipped"`  // by path
	Listing  []Listed  `json:"listing"`  // the files without their contents
}

// Listed is what a report needs to know of a file.
type Listed struct {
	Path       string      `json:"path"`
	Status     repo.Status `json:"status"`
	Language   string      `json:"language"`
	Reviewable bool        `json:"reviewable"`
	Reason     string      `json:"reason"`
}

// File is a text file to look at.
type File struct {
	Path       string      `json:"path"`
	OldPath    string      `json:"old_path"` // of a renamed file
	Status     repo.Status `json:"status"`
	Language   string      `json:"language"`
	After      string      `json:"after"` // content after the change
	Revision   string      `json:"revision"`
	Reviewable bool        `json:"reviewable"` // a language reviewer should see it
	Reason     string      `json:"reason"`     // why not
}

// Skipped is a file that cannot be looked at.
type Skipped struct {
	Path   string      `json:"path"`
	Status repo.Status `json:"status"`
	Reason string      `json:"reason"`
}

// Options are the choices of a Read; nil and the zero value are valid.
type Options struct {
	// Unavailable gives, by language, why it has no reviewer although it could
	// have one.
	Unavailable map[string]string
}

// Read returns the last change of the repository at dir: the last commit
// against its first parent, or the whole tree of a root commit and where a
// shallow clone ends.
func Read(ctx context.Context, dir string, opts *Options) (_ *Diff, err error) {
	r, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()

	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	base, err := r.Parent(ctx, head)
	if err != nil {
		return nil, err
	}
	var changes []repo.Change
	if base == "" {
		changes, err = r.Tree(ctx, head)
	} else {
		changes, err = r.Diff(ctx, base, head)
	}
	if err != nil {
		return nil, err
	}

	d := &Diff{Repo: r.Dir(), Revision: head, Base: base, Files: []File{}, Skipped: []Skipped{}, Listing: []Listed{}}
	blobs, err := r.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, blobs.Close()) }()
	return d, d.fill(changes, blobs, opts)
}

func (d *Diff) fill(changes []repo.Change, blobs *repo.Blobs, opts *Options) error {
	total := int64(0)
	for _, c := range changes {
		content, reason, err := load(c, blobs, maxTotal-total)
		if err != nil {
			return err
		}
		if reason == "" && len(d.Files) == maxFiles {
			reason = fmt.Sprintf("the change has more than %d files", maxFiles)
		}
		if reason != "" {
			d.Skipped = append(d.Skipped, Skipped{Path: printable(c.Path), Status: c.Status, Reason: reason})
			continue
		}
		total += int64(len(content))
		f := d.file(c, content, opts)
		d.Files = append(d.Files, f)
		d.Listing = append(d.Listing, Listed{f.Path, f.Status, f.Language, f.Reviewable, f.Reason})
	}
	return nil
}

func (d *Diff) file(c repo.Change, content []byte, opts *Options) File {
	f := File{
		Path:     c.Path,
		OldPath:  printable(c.OldPath),
		Status:   c.Status,
		Language: reviewer.Language(c.Path),
		After:    string(content),
		Revision: d.Revision,
	}
	f.Reason = unreviewable(f, opts)
	f.Reviewable = f.Reason == ""
	return f
}

// load returns a file's content, or the reason why it is left out. Large files
// are never read.
func load(c repo.Change, blobs *repo.Blobs, room int64) (content []byte, reason string, err error) {
	switch {
	case c.Status == repo.Deleted:
		return nil, "deleted", nil
	case c.Kind == repo.Symlink:
		return nil, "symbolic link", nil
	case c.Kind == repo.Submodule:
		return nil, "submodule", nil
	case !utf8.ValidString(c.Path):
		return nil, "its name is not UTF-8", nil
	}
	size, err := blobs.Size(c.Blob)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", printable(c.Path), err)
	case size > maxFile:
		return nil, fmt.Sprintf("larger than 1 MiB (%.1f MiB)", float64(size)/(1<<20)), nil
	case size > room:
		return nil, "the change is larger than 8 MiB in all", nil
	}
	content, err = blobs.Read(c.Blob)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", printable(c.Path), err)
	case bytes.IndexByte(content, 0) >= 0:
		return nil, "binary", nil
	case !utf8.Valid(content):
		return nil, "not UTF-8 text", nil
	}
	return content, "", nil
}

// printable quotes a name that is not UTF-8, since JSON could not carry it.
func printable(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strconv.Quote(name)
}
