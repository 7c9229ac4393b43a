package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithUs ends the child with the test process, however that ends.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
