//go:build soak

package main

import (
	"testing"
	"time"

	"junction/state/redis/redistest"
)

// TestSoakFleet kills one of three workers every five seconds while 200 threads
// run, with the lease that is the default.
func TestSoakFleet(t *testing.T) {
	f := newFleet(t, redistest.Start(t).Address(), 500*time.Millisecond, 10*time.Second, 8)
	f.disturb(t, 200, 5*time.Second, 10*time.Minute, f.lease*3/2)
}

// TestSoakThroughput does the same with ten times as many threads and hops that
// take next to nothing.
func TestSoakThroughput(t *testing.T) {
	f := newFleet(t, redistest.Start(t).Address(), time.Millisecond, 3*time.Second, 64)
	f.disturb(t, 2000, 2*time.Second, 10*time.Minute, f.lease*3/2)
}

// TestSoakCluster is the fleet on a cluster of three masters. Workers die further
// apart than a lease lasts: who takes a thread over and dies before it says so makes
// one stall of two.
func TestSoakCluster(t *testing.T) {
	f := newFleet(t, redistest.StartCluster(t).Address(), 500*time.Millisecond, 5*time.Second, 16)
	f.disturb(t, 200, 8*time.Second, 10*time.Minute, f.lease*3/2)
}
