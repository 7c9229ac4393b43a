//go:build soak && unix

package main

import (
	"testing"
	"time"
)

// TestSoakLive goes through every trouble of a server, with time to recover from
// each, and prints the shares beside those that the lab foretells.
func TestSoakLive(t *testing.T) {
	const base = 100 * time.Millisecond
	l := &live{base: base, rate: 30, seconds: 210, phases: []phase{
		slowed(10, 10, 30, base), halfFailing(50, 10, 30), hung(90, 10, 40), killedOff(140, 10, 50),
	}}
	l.run(t)
	l.compare(t)
}
