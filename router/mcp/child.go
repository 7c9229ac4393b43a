package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"junction/router"
)

// keptLines is how much of a child's stderr an error can show.
const keptLines = 20

// child is a server's process. It leads a process group of its own, so that
// what it started ends with it.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *tail
	grace  time.Duration
	exited chan struct{}
	err    error // of Wait, readable once exited is closed
}

// start runs a server; heard is told of the lines of its stderr. The child reads end
// of file on its input when this process dies, however it dies.
func (s *spawner) start(d *router.Dial, self string, grace time.Duration, heard func(line string)) (*child, error) {
	cmd, err := command(d, self)
	if err != nil {
		return nil, err
	}
	var pipes []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close() //nolint:errcheck // nothing was written
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes)
			return nil, fmt.Errorf("no pipe for the process: %w", err)
		}
		pipes = append(pipes, r, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	if err := s.run(cmd); err != nil {
		closeAll(pipes)
		return nil, fmt.Errorf("%q does not start: %w", d.Command, err)
	}
	closeAll([]*os.File{pipes[0], pipes[3], pipes[5]})
	ch := &child{
		cmd: cmd, stdin: pipes[1], stdout: pipes[2], grace: grace,
		stderr: newTail(pipes[4], heard), exited: make(chan struct{}),
	}
	go ch.wait()
	return ch, nil
}

// command builds the process: the child's own environment, not ours.
func command(d *router.Dial, self string) (*exec.Cmd, error) {
	path := d.Command
	if path == "junction" {
		var err error
		if path, err = executable(self); err != nil {
			return nil, err
		}
	} else if search, ok := d.Env["PATH"]; ok && !strings.ContainsAny(path, `/\`) {
		for _, dir := range filepath.SplitList(search) {
			if found, err := exec.LookPath(filepath.Join(dir, path)); err == nil {
				path = found
				break
			}
		}
	}
	cmd := exec.Command(path, d.Args...)
	cmd.Dir = d.Dir
	cmd.Env = environment(os.Environ(), d.Env)
	ownGroup(cmd)
	return cmd, nil
}

func executable(self string) (string, error) {
	if self != "" {
		return self, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the running executable cannot be found: %w", err)
	}
	return path, nil
}

// inherited names what a child gets of our environment: what it needs to find
// programs, its user's files and a language, and nothing that could be a secret.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LANG", "LANGUAGE",
	"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", // Windows
}

func environment(ours []string, own map[string]string) []string {
	var env []string
	for _, kv := range ours {
		name, _, _ := strings.Cut(kv, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if _, replaced := own[name]; replaced {
			continue
		}
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, kv)
		}
	}
	for name, v := range own {
		env = append(env, name+"="+v)
	}
	slices.Sort(env)
	return env
}

func (c *child) wait() {
	c.err = c.cmd.Wait()
	// What the child started may hold its output open, and a reader would wait
	// for it; so may what left the group, which only a deadline parts from us.
	killGroup(c.cmd)
	soon := time.Now().Add(settle)
	for _, f := range []*os.File{c.stdout, c.stderr.src} {
		f.SetReadDeadline(soon) //nolint:errcheck // not every system has it: stop closes the file
	}
	close(c.exited)
}

// status says how the child ended. Only after exited is closed.
func (c *child) status() error {
	if c.err != nil {
		return c.err
	}
	return errors.New("exit status 0")
}

// stop ends the child: its input is closed, then it is asked by signal, then
// killed. When ctx ends it is killed at once.
func (c *child) stop(ctx context.Context) {
	c.stdin.Close() //nolint:errcheck // closed to be heard, not to be flushed
	if !c.await(ctx) {
		terminateGroup(c.cmd)
		if !c.await(ctx) {
			killGroup(c.cmd)
			<-c.exited
		}
	}
	// A process that left the group may still hold the pipes.
	c.stdout.Close() //nolint:errcheck // only read from
	c.stderr.close()
}

func (c *child) await(ctx context.Context) bool {
	t := time.NewTimer(c.grace)
	defer t.Stop()
	select {
	case <-c.exited:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// tail keeps the last lines of a child's stderr, so that the pipe never fills
// and an error can show why a server died.
type tail struct {
	src    *os.File
	heard  func(line string) // nil: nobody listens
	closed chan struct{}     // at the end of the stream

	mu   sync.Mutex
	kept []string
}

func newTail(src *os.File, heard func(line string)) *tail {
	t := &tail{src: src, heard: heard, closed: make(chan struct{})}
	go t.fill()
	return t
}

func (t *tail) fill() {
	defer close(t.closed)
	in := bufio.NewReaderSize(t.src, 4096)
	for {
		line, end, err := readLine(in, 4096)
		if end != nil {
			line = append(line, "…"...)
		}
		if text := excerpt(string(line)); text != "" {
			t.mu.Lock()
			t.kept = append(t.kept, text)
			if over := len(t.kept) - keptLines; over > 0 {
				t.kept = slices.Delete(t.kept, 0, over)
			}
			t.mu.Unlock()
			if t.heard != nil {
				t.heard(text)
			}
		}
		if err != nil {
			return
		}
	}
}

// lines returns the last lines, oldest first.
func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}

func (t *tail) close() {
	t.src.Close() //nolint:errcheck // only read from
	<-t.closed
}
