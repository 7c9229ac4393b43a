//go:build unix

package childtest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Stop suspends a child of this process (SIGSTOP) and returns once all of it stands
// still. A signal alone is not enough: kill(2) returns while threads on other
// processors run on, and one of them may answer what it is asked next.
func Stop(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait until process %d has stopped: %w", p.Pid, err)
		case !status.Stopped():
			return fmt.Errorf("process %d ended before it had stopped", p.Pid)
		default:
			return nil
		}
	}
}

// Cont lets a child that was stopped go on.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
