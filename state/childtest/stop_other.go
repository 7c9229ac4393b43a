//go:build !unix

package childtest

import (
	"errors"
	"os"
)

var errNoSignals = errors.New("this system cannot suspend a process")

// Stop has nothing to offer here.
func Stop(*os.Process) error { return errNoSignals }

// Cont has nothing to offer here.
func Cont(*os.Process) error { return errNoSignals }
