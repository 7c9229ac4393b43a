package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps our console's Ctrl-C from the child: it ends when we end it,
// or by end of file on its input.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup ends the process: Windows has no gentler signal for one
// without a console.
func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup ignores the error: a process that is gone needs no signal.
func killGroup(cmd *exec.Cmd) {
	cmd.Process.Kill() //nolint:errcheck // as above
}
