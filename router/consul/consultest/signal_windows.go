package consultest

import (
	"errors"
	"os"
)

var errNoSignals = errors.New("a process cannot be suspended on Windows")

func suspend(*os.Process) error { return errNoSignals }

func resume(*os.Process) error { return errNoSignals }
