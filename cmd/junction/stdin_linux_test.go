package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blocks reports whether a read or a write of a descriptor waits in the system.
func blocks(t *testing.T, fd int) bool {
	t.Helper()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return flags&syscall.O_NONBLOCK == 0
}

// inherited are both ends of a pipe or a socket as a program gets its standard streams:
// reads of the first wait in the system.
func inherited(t *testing.T, socket bool) (in, peer *os.File) {
	t.Helper()
	var fds [2]int
	var err error
	if socket {
		fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	} else {
		err = syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, peer = os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "peer")
	t.Cleanup(func() {
		in.Close()   //nolint:errcheck // a test may have closed it
		peer.Close() //nolint:errcheck // so it may this
	})
	return in, peer
}

func TestAnInputIsWaitedForWithoutAThreadAndGivenBackAsItWas(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]bool{"pipe": false, "socket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, peer := inherited(t, socket)
			got, release := ready(in, os.Stdout, os.Stderr)
			bounded, ok := got.(interface{ SetReadDeadline(time.Time) error })
			if !ok || got == io.Reader(in) {
				t.Fatalf("it is a %T", got)
			}
			if blocks(t, int(in.Fd())) != !socket {
				t.Errorf("the mode of what others may share: a pipe's is to stay, a socket's to change; waits: %t", !socket)
			}
			if err := bounded.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 16)
			if _, err := got.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a read beyond its deadline: %v", err)
			}
			if err := bounded.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			if _, err := peer.WriteString("hello"); err != nil {
				t.Fatal(err)
			}
			if n, err := got.Read(buf); err != nil || string(buf[:n]) != "hello" {
				t.Errorf("%q, %v", buf[:n], err)
			}
			if err := peer.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := got.Read(buf); !errors.Is(err, io.EOF) {
				t.Errorf("at its end: %v", err)
			}
			release()
			if !blocks(t, int(in.Fd())) {
				t.Error("whoever shares it finds another mode than before")
			}
		})
	}
}

func TestAnInputThatIsAnOutputOrAFileStaysAsItIs(t *testing.T) {
	t.Parallel()
	in, _ := inherited(t, true)
	twin, err := syscall.Dup(int(in.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	out := os.NewFile(uintptr(twin), "out")
	defer closing(t, out)
	if got, _ := ready(in, out, os.Stderr); got != io.Reader(in) || !blocks(t, twin) {
		t.Errorf("it is a %T, its mode has changed: %t", got, !blocks(t, twin))
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "requests"))
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, file)
	if got, _ := ready(file, os.Stdout); got != io.Reader(file) {
		t.Errorf("a file became a %T", got)
	}
	text := strings.NewReader("")
	if got, _ := ready(text, os.Stdout); got != io.Reader(text) {
		t.Errorf("what is no file became a %T", got)
	}
}

// One of another family is not taken, and must not be left as if it were: the next read
// of it would be an error, where it is to wait.
func TestASocketThatCannotBeWaitedForStaysAsItIs(t *testing.T) {
	t.Parallel()
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		t.Skipf("no such socket here: %v", err)
	}
	in := os.NewFile(uintptr(fd), "in")
	defer closing(t, in)
	if got, _ := ready(in, os.Stdout, os.Stderr); got != io.Reader(in) || !blocks(t, fd) {
		t.Errorf("it is a %T, its mode has changed: %t", got, !blocks(t, fd))
	}
}

// One socket for both directions is what some programs that start others give them.
func TestAClientOverOneSocketThatReadsLateLosesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := inherited(t, true)
	if err := syscall.SetsockoptInt(int(theirs.Fd()), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 4<<10); err != nil {
		t.Fatal(err) // it is to hold but a few answers
	}
	cmd := exec.Command(self, "proxy", "--quiet", "--env", echoEnv+"=earlier", "--", self)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(ours)
	fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":%s}`+"\n", earlierInit)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, `"id":"init"`) {
		t.Fatalf("%q, %v", line, err)
	}
	const calls = 600 // with answers of 1 KiB
	for n := range calls {
		fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", n, callOfEcho)
	}
	seen := map[string]bool{}
	for range calls {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d answers: %v", len(seen), err)
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"jsonrpc":"2.0","id":`), ",")
		if !strings.Contains(line, `"result"`) || seen[id] {
			t.Fatalf("after %d answers: %s", len(seen), line)
		}
		seen[id] = true
	}
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
