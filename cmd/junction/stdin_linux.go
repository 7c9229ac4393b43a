package main

import (
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// ready is in as a stream that is waited for without a thread that sleeps in it, and
// with deadlines, where it is a pipe or a socket; release gives it back as it was. Who
// reads from a file, a terminal or anything else has that itself.
//
// A pipe is opened once more, so that its mode is ours alone. A socket, as Node.js and
// Python give their children, cannot be: its mode changes for all who share it. One
// that is among outputs stays as it is, since who writes to those knows nothing of its
// mode, and would lose what does not fit.
func ready(in io.Reader, outputs ...io.Writer) (ready io.Reader, release func()) {
	nothing := func() {}
	file, ok := in.(*os.File)
	if !ok || file.SetReadDeadline(time.Time{}) == nil { // it is so already
		return in, nothing
	}
	info, err := file.Stat()
	if err != nil {
		return in, nothing
	}
	fd := int(file.Fd())
	switch info.Mode().Type() {
	case os.ModeNamedPipe:
		again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			break // it is another user's
		}
		return again, func() { again.Close() } //nolint:errcheck // only read from
	case os.ModeSocket:
		if isAny(info, outputs) {
			break
		}
		asBefore := func() { syscall.SetNonblock(fd, false) } //nolint:errcheck // nobody is left to tell
		conn, err := net.FileConn(file)
		if err != nil { // of a family that is not known there, which is found out late
			asBefore()
			break
		}
		return conn, func() {
			conn.Close() //nolint:errcheck // only read from
			asBefore()
		}
	}
	return in, nothing
}

// isAny reports whether a file is one of those that others write to.
func isAny(info os.FileInfo, others []io.Writer) bool {
	return slices.ContainsFunc(others, func(w io.Writer) bool {
		f, ok := w.(*os.File)
		if !ok {
			return false
		}
		other, err := f.Stat()
		return err != nil || os.SameFile(info, other) // or may be
	})
}
