//go:build !unix

package redistest

import (
	"errors"
	"os"
)

var errNoSignal = errors.New("this system cannot suspend a process")

func suspend(*os.Process) error { return errNoSignal }
func resume(*os.Process) error  { return errNoSignal }
