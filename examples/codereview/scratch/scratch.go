// Package scratch makes the reviewers' temporary files.
//
// A server that is killed cannot remove its files. So each new one removes those
// that nobody has used for a day: what a live server holds, it keeps fresh.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// stale is the age at which a temporary file is taken to have no owner.
const stale = 24 * time.Hour

// prefix marks what is ours among the temporary files.
const prefix = "junction-review-"

// Dir makes a directory and sweeps up after servers that were killed.
func Dir() (string, error) {
	if err := sweep(os.TempDir(), time.Now()); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", prefix+"*")
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir) // the go command names files by their real paths
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return real, nil
}

// File makes an empty file.
func File() (*os.File, error) { return os.CreateTemp("", prefix+"*") }

// Keep marks a directory as in use. It fails when the directory is gone.
func Keep(dir string) error {
	now := time.Now()
	return os.Chtimes(dir, now, now)
}

// sweep removes what is stale. What another account owns, or another sweep has
// removed meanwhile, is left alone.
func sweep(dir string, now time.Time) error {
	entries, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := os.Lstat(e)
		if err != nil || now.Sub(info.ModTime()) < stale {
			continue
		}
		err = os.RemoveAll(e)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
