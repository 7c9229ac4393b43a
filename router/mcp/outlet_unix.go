//go:build unix

package mcp

import (
	"errors"
	"syscall"
)

// writeSome writes what there is room for at once. Who calls it sees to it that nobody
// else writes.
func writeSome(to syscall.RawConn, data []byte) (n int, err error) {
	if e := to.Write(func(fd uintptr) bool {
		for {
			n, err = syscall.Write(int(fd), data)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	}); e != nil {
		return 0, e
	}
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(0, n), err
}
