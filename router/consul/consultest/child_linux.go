package consultest

import "syscall"

// bound has the kernel end the agent with the test program, however that ends.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
