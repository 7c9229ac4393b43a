//go:build unix

package consul_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
)

// BenchmarkChange is the time from a change of one of 1,000 instances in a real
// Consul to the snapshot that shows it, and what of this process it takes. idle is
// the share of a core while nothing changes.
func BenchmarkChange(b *testing.B) {
	for _, layout := range []struct{ services, each int }{{1, 1000}, {100, 10}} {
		b.Run(fmt.Sprintf("services=%d/instances=%d", layout.services, layout.each), func(b *testing.B) {
			a := consultest.Start(b)
			for i := range layout.services * layout.each {
				register(b, a, fmt.Sprintf("svc%03d", i%layout.services), fmt.Sprintf("i%04d", i), 1)
			}
			d, err := consul.New(consul.Options{Address: a.Address(), Timeout: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			if err := d.Refresh(b.Context()); err != nil {
				b.Fatal(err)
			}
			before := d.Snapshot()
			if before.Stale || len(before.Servers) != layout.services*layout.each {
				b.Fatalf("%d servers, stale %t", len(before.Servers), before.Stale)
			}
			b.ReportAllocs()
			busy, n := cpu(b), 1
			for b.Loop() {
				n++
				register(b, a, "svc000", "i0000", n)
				await(b, d, func(s *router.Snapshot) bool { return s.Servers[0].Weight == float64(n) })
			}
			b.StopTimer()
			b.ReportMetric(float64((cpu(b)-busy).Milliseconds())/float64(b.N), "cpu-ms/op")
			if !slices.Equal(before.Servers[1:], d.Snapshot().Servers[1:]) {
				b.Error("servers that did not change lost their pointers")
			}
			const quiet = 10 * time.Second
			busy = cpu(b)
			<-time.After(quiet)
			b.ReportMetric(100*(cpu(b)-busy).Seconds()/quiet.Seconds(), "idle-%")
		})
	}
}

func register(b *testing.B, a *consultest.Agent, service, id string, weight int) {
	b.Helper()
	_, err := a.Client().Catalog().Register(&api.CatalogRegistration{
		Node: "far", Address: "10.0.0.1",
		Service: &api.AgentService{ID: id, Service: service, Port: 8080, Tags: []string{"mcp", "code-review", "language=go"},
			Meta:    map[string]string{consul.MetaConcurrent: "20", consul.MetaTool: "review", "review_depth": "deep"},
			Weights: api.AgentWeights{Passing: weight, Warning: 1}},
		Check: &api.AgentCheck{Node: "far", CheckID: id, ServiceID: id, Name: "capability", Status: api.HealthPassing},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
}

func await(b *testing.B, d *consul.Discovery, fits func(*router.Snapshot) bool) {
	b.Helper()
	look := time.NewTicker(200 * time.Microsecond)
	defer look.Stop()
	deadline := time.After(within)
	for !fits(d.Snapshot()) {
		select {
		case <-look.C:
		case <-deadline:
			b.Fatalf("the change never came: %v", d.Err())
		}
	}
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
