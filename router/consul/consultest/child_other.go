//go:build !linux

package consultest

import "syscall"

// bound has nothing to offer here: a test program that is killed leaves its agent.
func bound() *syscall.SysProcAttr { return nil }
