package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind is what an entry of a tree is.
type Kind string

// The kinds of entries.
const (
	File      Kind = "file"
	Symlink   Kind = "symlink"
	Submodule Kind = "submodule"
)

// Status is what happened to a file.
type Status string

// The statuses of a change.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Renamed  Status = "renamed"
)

// Change is one entry of a difference between two commits, or of a whole tree.
type Change struct {
	Status  Status
	Path    string // bytes as git has them, not always UTF-8
	OldPath string // of a renamed file
	Kind    Kind
	Blob    string // id of the content; "" when deleted
}

var errTruncated = errors.New("git's answer ends in the middle of an entry")

// Tree lists every entry of a commit as added, by path.
func (r *Repo) Tree(ctx context.Context, commit string) ([]Change, error) {
	out, err := r.output(ctx, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
	if err != nil {
		return nil, err
	}
	var cs []Change
	for len(out) > 0 {
		entry, rest, ok := cut(out)
		if !ok {
			return nil, errTruncated
		}
		out = rest
		head, path, ok := strings.Cut(entry, "\t") // MODE TYPE ID TAB PATH
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("git ls-tree: entry %q", entry)
		}
		cs = append(cs, Change{Status: Added, Path: path, Kind: kind(fields[0]), Blob: fields[2]})
	}
	return cs, nil
}

// Diff lists what changed from one commit to another, by path; renames are
// found.
func (r *Repo) Diff(ctx context.Context, from, to string) ([]Change, error) {
	out, err := r.output(ctx, "diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev",
		"--no-ext-diff", "--no-textconv", "--no-commit-id", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	var cs []Change
	for len(out) > 0 {
		c, rest, err := parseRaw(out)
		if err != nil {
			return nil, err
		}
		cs, out = append(cs, c), rest
	}
	return cs, nil
}

// parseRaw takes one entry off git's raw format:
// ":MODE MODE ID ID STATUS" NUL PATH NUL, with a second PATH for renames.
func parseRaw(out []byte) (Change, []byte, error) {
	head, rest, ok := cut(out)
	fields := strings.Fields(strings.TrimPrefix(head, ":"))
	if !ok || len(fields) != 5 || fields[4] == "" {
		return Change{}, nil, fmt.Errorf("git diff-tree: entry %q", head)
	}
	path, rest, ok := cut(rest)
	if !ok {
		return Change{}, nil, errTruncated
	}
	c := Change{Path: path, Kind: kind(fields[1]), Blob: fields[3]}
	switch fields[4][0] {
	case 'A':
		c.Status = Added
	case 'D':
		c.Status, c.Kind, c.Blob = Deleted, kind(fields[0]), ""
	case 'R':
		c.Status, c.OldPath = Renamed, path
		if c.Path, rest, ok = cut(rest); !ok {
			return Change{}, nil, errTruncated
		}
	default: // modified, or another type
		c.Status = Modified
	}
	return c, rest, nil
}

func cut(b []byte) (string, []byte, bool) {
	before, after, ok := bytes.Cut(b, []byte{0})
	return string(before), after, ok
}

func kind(mode string) Kind {
	switch mode {
	case "120000":
		return Symlink
	case "160000":
		return Submodule
	}
	return File
}
