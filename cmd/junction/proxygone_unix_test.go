//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A client may close any of the three streams first. Who dies of that ends its servers
// by force, with what they were about.
func TestAClientThatClosesAStreamEndsAProxyInOrderIfAtAll(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unread, stderr := piping(t)
	cmd := exec.Command(self, "proxy", "--log-level", "debug", "--env", echoEnv+"=earlier", "--", self)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.Stderr = stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, stdout := piping(t)
	cmd.Stdout = stdout
	closing(t, unread)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { to.Close() }) //nolint:errcheck // which ends it at the latest
	closing(t, stderr)
	closing(t, stdout)
	in := bufio.NewReader(from)
	ask := func(id int, method, params string) {
		fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params) //nolint:errcheck // seen by its answer
	}
	answered := func(id int) {
		t.Helper()
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprintf(`"id":%d,"result"`, id)) {
			t.Fatalf("to %d: %q, %v", id, line, err)
		}
	}
	ask(1, "initialize", earlierInit)
	answered(1)
	ask(2, "tools/call", callOfEcho)
	answered(2) // with a log that nobody can read
	closing(t, from)
	ask(3, "tools/call", callOfEcho)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it serves nobody")
	}
	if is := cmd.ProcessState.Sys().(syscall.WaitStatus); is.Signaled() {
		t.Errorf("it died of signal %v", is.Signal())
	}
}

func piping(t *testing.T) (from io.ReadCloser, to *os.File) {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return from, to
}
