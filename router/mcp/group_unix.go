//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

func terminateGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { signalGroup(cmd, syscall.SIGKILL) }

// signalGroup ignores the error: a group that is gone needs no signal.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) {
	syscall.Kill(-cmd.Process.Pid, sig) //nolint:errcheck // as above
}
