package static

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"junction/router"
	"junction/state/document"
)

// lockVersion is the form of the lock file.
const lockVersion = 1

// Lock is what was approved of the tools of pinned servers. It lies beside the
// servers file and belongs into version control with it:
//
//	{
//	  "version": 1,
//	  "servers": {
//	    "eslint": {
//	      "lint-files": {
//	        "description": "<SHA-256, hex>",
//	        "input_schema": "…", "output_schema": "…", "annotations": "…"
//	      }
//	    }
//	  }
//	}
type Lock struct {
	Path    string
	servers map[string]map[string]router.ToolPrint // by server id, then by tool
}

// lockFile is the lock as it is written.
type lockFile struct {
	Version int                                    `json:"version"`
	Servers map[string]map[string]router.ToolPrint `json:"servers"`
}

// Change is what approving a server's tools as they are would change.
type Change struct {
	Tool  string   `json:"tool"`
	Kind  string   `json:"kind"`            // added, changed or removed
	Parts []string `json:"parts,omitempty"` // of a changed tool, for people
}

// LockPath is where the lock of a servers file is: junction.lock.json beside
// junction.yaml.
func LockPath(file string) string {
	return strings.TrimSuffix(file, filepath.Ext(file)) + ".lock.json"
}

// ReadLock reads the lock at path. Where there is none nothing is approved; one that
// cannot be understood is an error, never taken for an empty one.
func ReadLock(path string) (*Lock, error) {
	l := &Lock{Path: path, servers: map[string]map[string]router.ToolPrint{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	if len(data) > document.MaxBytes {
		return nil, badLock(path, "the file is larger than %d bytes", document.MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var file lockFile
	if err := d.Decode(&file); err != nil {
		return nil, badLock(path, "%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badLock(path, "there is something after the end")
	}
	if file.Version != lockVersion {
		return nil, badLock(path, "its version is %d, and only %d is known here", file.Version, lockVersion)
	}
	maps.Copy(l.servers, file.Servers)
	return l, nil
}

func badLock(path, format string, args ...any) error {
	return document.Faults{{
		File: path, Message: "approvals: " + fmt.Sprintf(format, args...), Hint: "restore the file, or remove it and approve again",
	}}
}

// Servers are the ids of those of whom something is approved, sorted.
func (l *Lock) Servers() []string { return slices.Sorted(maps.Keys(l.servers)) }

// Changes says what approving these tools of a server would change, by tool.
func (l *Lock) Changes(server string, tools []router.Tool) []Change {
	was := l.servers[server]
	is := prints(tools)
	var all []Change
	for name, now := range is {
		before, approved := was[name]
		switch {
		case !approved:
			all = append(all, Change{Tool: name, Kind: "added"})
		case before != now:
			all = append(all, Change{Tool: name, Kind: "changed", Parts: before.Changed(now)})
		}
	}
	for name := range was {
		if _, there := is[name]; !there {
			all = append(all, Change{Tool: name, Kind: "removed"})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Tool, b.Tool) })
	return all
}

// Approve takes a server's tools as they are; without any, nothing of it is approved
// any more.
func (l *Lock) Approve(server string, tools []router.Tool) {
	if len(tools) == 0 {
		delete(l.servers, server)
		return
	}
	l.servers[server] = prints(tools)
}

func prints(tools []router.Tool) map[string]router.ToolPrint {
	all := make(map[string]router.ToolPrint, len(tools))
	for i := range tools {
		all[tools[i].Name] = tools[i].Print()
	}
	return all
}

// Write replaces the file in one step: whoever reads it sees the old one or the new
// one, also after a crash. Keys are sorted, so that a version control shows what was
// approved.
func (l *Lock) Write() (err error) {
	data, err := json.MarshalIndent(lockFile{lockVersion, l.servers}, "", "  ")
	if err != nil {
		return fmt.Errorf("write approvals: %w", err)
	}
	path := l.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write approvals: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write approvals: %w", errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// approve gives the pinned servers of c what was approved of them. A file that pins
// none has no lock.
func (c *Config) approve() error {
	if !slices.ContainsFunc(c.Servers, func(s *router.Server) bool { return s.Approval != "" }) {
		return nil
	}
	l, err := ReadLock(LockPath(c.Path))
	if err != nil {
		return err
	}
	for _, s := range c.Servers {
		if s.Approval == "" {
			continue
		}
		s.Approved = l.servers[s.ID]
		text, err := json.Marshal(s.Approved)
		if err != nil {
			return fmt.Errorf("approvals of %s: %w", s.ID, err)
		}
		c.prints[s.ID] += string(text) // who is approved anew is another server to those who know it by pointer
	}
	return nil
}
