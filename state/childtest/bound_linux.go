package childtest

import (
	"os/exec"
	"syscall"
)

// Bound has the kernel end the child with the test program, however that ends.
func Bound(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
