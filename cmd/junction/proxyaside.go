package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// asideLines is how many lines wait for a reader of stderr that is slow.
	asideLines = 1024
	// asideWait bounds how long the last ones are waited for.
	asideWait = time.Second
)

// aside is a writer of lines that never blocks: a client that leaves our stderr unread
// must hold up nothing. What does not fit is dropped, and how much is said later.
type aside struct {
	lines   chan string
	dropped atomic.Int64
	quit    chan struct{}
	done    chan struct{}
}

func newAside(to io.Writer) *aside {
	a := &aside{lines: make(chan string, asideLines), quit: make(chan struct{}), done: make(chan struct{})}
	go a.run(to)
	return a
}

func (a *aside) run(to io.Writer) {
	defer close(a.done)
	for {
		select {
		case line := <-a.lines:
			a.write(to, line)
			continue
		default:
		}
		select {
		case line := <-a.lines:
			a.write(to, line)
		case <-a.quit:
			if len(a.lines) == 0 {
				return
			}
		}
	}
}

func (a *aside) write(to io.Writer, line string) {
	if n := a.dropped.Swap(0); n > 0 {
		line = fmt.Sprintf("junction: %d lines were dropped here: nobody read them\n", n) + line
	}
	_, _ = io.WriteString(to, line) // whoever is not there cannot be told
}

// Write takes a line, or drops it where too many wait.
func (a *aside) Write(line []byte) (int, error) {
	select {
	case a.lines <- string(line):
	default:
		a.dropped.Add(1)
	}
	return len(line), nil
}

// close waits a moment for the last lines to be read.
func (a *aside) close() {
	close(a.quit)
	wait := time.NewTimer(asideWait)
	defer wait.Stop()
	select {
	case <-a.done:
	case <-wait.C: // its goroutine ends with the process
	}
}
