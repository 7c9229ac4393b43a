package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the child into a group of its own. The kernel kills it when
// the spawner's thread ends, so that kill -9 of ours leaves no orphan.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
