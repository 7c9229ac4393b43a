package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// Blobs reads contents one after another through one git process. It is not
// safe for concurrent use.
type Blobs struct {
	sizes, contents *batch
}

// Blobs starts reading. Close it.
func (r *Repo) Blobs(ctx context.Context) (*Blobs, error) {
	sizes, err := r.batch(ctx, "--batch-check")
	if err != nil {
		return nil, err
	}
	contents, err := r.batch(ctx, "--batch")
	if err != nil {
		return nil, errors.Join(err, sizes.close())
	}
	return &Blobs{sizes: sizes, contents: contents}, nil
}

// Close ends the git processes.
func (b *Blobs) Close() error {
	return errors.Join(b.sizes.close(), b.contents.close())
}

// Size is the length of a blob in bytes. The content is not read.
func (b *Blobs) Size(id string) (int64, error) { return b.sizes.ask(id) }

// Read returns a blob's content as it is stored: no filter, no change of line
// ends.
func (b *Blobs) Read(id string) ([]byte, error) {
	size, err := b.contents.ask(id)
	if err != nil {
		return nil, err
	}
	content := make([]byte, size+1) // a newline follows
	if _, err := io.ReadFull(b.contents.out, content); err != nil {
		return nil, fmt.Errorf("read blob %s: %w", id, err)
	}
	return content[:size], nil
}

type batch struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func (r *Repo) batch(ctx context.Context, mode string) (*batch, error) {
	b := &batch{cmd: r.command(ctx, "cat-file", mode)}
	b.cmd.Stderr = &b.stderr
	in, err := b.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	b.in, b.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	return b, nil
}

// ask requests an object and returns the size its header gives.
func (b *batch) ask(id string) (int64, error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return 0, fmt.Errorf("ask git for %s: %w", id, err)
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("git's answer for %s: %w", id, err)
	}
	fields := strings.Fields(head) // ID TYPE SIZE, or ID "missing"
	if len(fields) != 3 {
		return 0, fmt.Errorf("object %s: %s: it is not in this clone, and nothing is fetched", id, strings.TrimSpace(head))
	}
	return strconv.ParseInt(fields[2], 10, 64)
}

func (b *batch) close() error {
	err := b.in.Close()
	// What was not read is not wanted any more, and a cancelled context has
	// killed the process: neither is a fault.
	var exit *exec.ExitError
	if werr := b.cmd.Wait(); werr != nil && !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	return err
}
