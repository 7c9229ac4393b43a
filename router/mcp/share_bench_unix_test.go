//go:build unix

package mcp_test

import (
	"syscall"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// spent is the CPU time that this process has used, client and server together.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHandshakeShare is the share of CPU that keeping a session costs beside
// 1,200 calls a second (R4): with a session of 600 s, which is renewed every 300 s,
// a handshake and a reading of the tools for each 360,000 calls.
func BenchmarkHandshakeShare(b *testing.B) {
	const (
		callsPerSecond = 1200
		renewal        = 300 * time.Second
	)
	s := &router.Server{ID: "bench", Dial: router.Dial{URL: benchServer(b)}}
	k := call("get", map[string]any{"path": "a.go"})
	var handshakes, calls time.Duration
	for b.Loop() {
		before := spent(b)
		c := mcp.New(nil)
		if _, err := c.Describe(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		handshakes += spent(b) - before
		before = spent(b)
		for range 100 {
			if _, err := c.Call(b.Context(), s, k); err != nil {
				b.Fatal(err)
			}
		}
		calls += spent(b) - before
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	handshake, one := handshakes/time.Duration(b.N), calls/time.Duration(100*b.N)
	share := float64(handshake) / (float64(one) * callsPerSecond * renewal.Seconds())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(handshake.Microseconds()), "µs-CPU/handshake")
	b.ReportMetric(float64(one.Microseconds()), "µs-CPU/call")
	b.ReportMetric(100*share, "%share")
}
