//go:build soak && unix

package main

import (
	"syscall"
	"testing"
	"time"

	"junction/router/lab"
)

// TestSoakLive goes through every trouble of a server, with time to recover from
// each, and prints the shares beside those that the lab foretells.
func TestSoakLive(t *testing.T) {
	const base = 100 * time.Millisecond
	l := &live{base: base, timeout: 2 * time.Second, rate: 30, closely: true, seconds: 210, phases: []phase{
		slowed(10, 10, 30, base), halfFailing(50, 10, 30), hung(90, 10, 40), killedOff(140, 10, 50),
	}}
	l.run(t)
	l.compare(t)
}

// hung is a server that takes what it is sent and answers nothing.
func hung(at, took, rest int) phase {
	return phase{name: "hung (SIGSTOP)", at: at, took: took, rest: rest, drained: 0.2, signal: syscall.SIGSTOP, lab: lab.Behaviour{Stuck: time.Hour}}
}
