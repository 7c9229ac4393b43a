//go:build unix && !linux

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// thisProcess is our pid: the start time of a process cannot be read without
// cgo here, so a lease whose pid was given to a new process ends with its time.
func thisProcess() process { return process{pid: os.Getpid()} }

func ended(p process) bool { return errors.Is(syscall.Kill(p.pid, 0), syscall.ESRCH) }
