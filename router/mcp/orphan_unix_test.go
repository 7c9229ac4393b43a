//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"junction/router"
	"junction/router/mcp"
)

// alive reports whether a process runs; one that has ended but was not waited
// for counts as gone.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no such file system: the signal decided
	}
	var id int
	var name, is string
	fmt.Sscan(string(stat), &id, &name, &is)
	return is != "Z"
}

// parent starts a server, says its process id and waits to be killed. Where the
// kernel binds a child to its parent, the server does not heed the end of its
// input.
func parent() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	role := "modern"
	if runtime.GOOS == "linux" {
		role = "outlives its input"
	}
	s := &router.Server{ID: "child", Dial: router.Dial{Command: self, Env: map[string]string{serverVar: role}}}
	r, err := mcp.New(nil).Call(context.Background(), s, router.ToolCall{Tool: "where"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(r.Text)
	linger()
	return 0
}

func TestNoOrphanIsLeftWhenWeAreKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverVar+"=parent")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	fmt.Sscan(line, &pid)
	if !alive(pid) {
		t.Fatalf("the child %d is not there before the kill", pid)
	}
	cmd.Process.Kill()
	cmd.Wait() //nolint:errcheck // it was killed
	eventually(t, "the child is gone", func() bool { return !alive(pid) })
}
