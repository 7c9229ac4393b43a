//go:build unix && !linux

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the child into a group of its own. When we are killed it reads
// end of file on its input: there is no stronger bond on these systems.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
