package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"junction/state/childtest"
)

// startWithin bounds how long a server may take until it serves, on a machine
// that is busy with other tests.
const startWithin = 2 * time.Minute

// process is one run of redis-server.
type process struct {
	cmd    *exec.Cmd
	output *output
	ended  chan struct{} // closed once the process is reaped
}

// launch runs the program and waits until its log has the line that says that it
// serves. A program that ends before is an error with what it printed.
func launch(program, ready string, args []string) (*process, error) {
	cmd := exec.Command(program, args...)
	out := &output{ready: ready, seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	childtest.Bound(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &process{cmd: cmd, output: out, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in its output
	}()
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	select {
	case <-out.seen:
		return p, nil
	case <-p.ended:
		return p, fmt.Errorf("%s %s ended at once:\n%s", program, strings.Join(args, " "), out)
	case <-deadline.C:
		return p, errors.Join(fmt.Errorf("%s does not serve within %v:\n%s", program, startWithin, out), p.kill())
	}
}

// kill ends the process without giving it time for anything, and reaps it.
func (p *process) kill() error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}

// output keeps what a server printed and looks out for one line.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready string
	found bool
	seen  chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(b)
	if !o.found && bytes.Contains(o.text.Bytes(), []byte(o.ready)) {
		o.found = true
		close(o.seen)
	}
	return n, err
}

// String returns the last lines printed.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	const lines = 15
	all := strings.Split(strings.TrimSpace(o.text.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
