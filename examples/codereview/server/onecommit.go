package server

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // git's name of an object, no protection
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"junction/examples/codereview/scratch"
)

// probeFile is the one file of the repository.
const probeFile = "probe.txt"

// oneCommit makes a repository of one commit with one file and returns its
// directory. It is written object by object: git itself would want a name, an
// address and a configuration of the machine's.
func oneCommit() (dir string, err error) {
	dir, err = scratch.Dir()
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	git := filepath.Join(dir, ".git")
	blob, err := object(git, "blob", []byte("probe\n"))
	if err != nil {
		return dir, err
	}
	raw, err := hex.DecodeString(blob)
	if err != nil {
		return dir, err
	}
	tree, err := object(git, "tree", append([]byte("100644 "+probeFile+"\x00"), raw...))
	if err != nil {
		return dir, err
	}
	const who = "probe <probe@example.org> 0 +0000"
	commit, err := object(git, "commit", fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %[2]s\n\nprobe\n", tree, who))
	if err != nil {
		return dir, err
	}
	heads := filepath.Join(git, "refs", "heads")
	return dir, errors.Join(
		os.MkdirAll(heads, 0o700),
		os.WriteFile(filepath.Join(heads, "main"), []byte(commit+"\n"), 0o600),
		os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
	)
}

// object writes a loose object and returns its id.
func object(git, kind string, content []byte) (id string, err error) {
	whole := fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum(whole)
	id = hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err = z.Write(whole)
	if err := errors.Join(err, z.Close()); err != nil {
		return "", err
	}
	dir := filepath.Join(git, "objects", id[:2])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return id, os.WriteFile(filepath.Join(dir, id[2:]), packed.Bytes(), 0o600)
}
