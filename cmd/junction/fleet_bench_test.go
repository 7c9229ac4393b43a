package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
	"junction/state"
	"junction/state/redis/redistest"
)

// manyHops is a thread of 500 safe hops.
const manyHops = `
workflow: many-hops
state:
  items: {type: array, default: [%s]}
  got:   {type: array, reduce: append}
nodes:
  a: {each: "${items}", call: {capability: echo, with: {text: "${string(item)}"}}, write: {got: "${[1]}"}}
  b: {each: "${items}", call: {capability: echo, with: {text: "${string(item)}"}}, write: {got: "${[1]}"}}
  c: {each: "${items}", call: {capability: echo, with: {text: "${string(item)}"}}, write: {got: "${[1]}"}}
  d: {each: "${items}", call: {capability: echo, with: {text: "${string(item)}"}}, write: {got: "${[1]}"}}
  e: {each: "${items}", call: {capability: echo, with: {text: "${string(item)}"}}, write: {got: "${[1]}"}}
edges:
  - start -> a -> b -> c -> d -> e -> end
`

// BenchmarkFleetHops is the throughput of a whole fleet on this machine: Redis,
// a Consul agent, two servers that registered there, and two workers, each a
// process of its own, every hop routed and journaled. One iteration is a thread
// of 500 hops.
func BenchmarkFleetHops(b *testing.B) {
	agent := consultest.Start(b)
	config := "discovery:\n  consul: " + agent.Address() + `
  services:
    echo:
      offers: [{capability: echo, tool: echo, effect: %s}]
`
	for i := range 2 {
		url := startEcho(b)
		reg, err := consul.Register(b.Context(), consul.Options{Address: agent.Address()}, consul.Service{
			Name: "echo", ID: fmt.Sprintf("echo-%d", i), Address: url[len("http://") : len(url)-len("/mcp")], MaxConcurrent: 256,
			Offers: []router.Offer{{Capability: "echo", Tool: "echo", Effect: state.Safe}},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { reg.Close(b.Context()) })
	}
	f := &fleet{address: redistest.Start(b, "appendonly", "yes", "appendfsync", "everysec").Address(), dir: b.TempDir(), lease: 10 * time.Second, threads: 8}
	writeFiles(b, f.dir, map[string]string{"junction.yaml": fmt.Sprintf(config, "safe")})
	app, err := wire.Open(b.Context(), wire.Settings{Store: f.address, Config: filepath.Join(f.dir, "junction.yaml")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closing(b, app) })
	f.app = app
	workers := []*fleetWorker{f.start(b), f.start(b)}
	items := "1"
	for i := range 99 {
		items += fmt.Sprintf(", %d", i)
	}
	b.ResetTimer()
	ids := f.queue(b, fmt.Sprintf(manyHops, items), b.N)
	f.wait(b, ids, 10*time.Minute, func() []*fleetWorker { return workers })
	b.ReportMetric(float64(500*b.N)/b.Elapsed().Seconds(), "hops/s")
}

// BenchmarkCancelFromAnotherProcess is the time from a cancel to the end of the
// hop it reaches in a worker's process, at the server; the median is reported.
func BenchmarkCancelFromAnotherProcess(b *testing.B) {
	f := newFleet(b, redistest.Start(b).Address(), 0, 10*time.Second, 8)
	f.start(b)
	text := "workflow: waiting\nstate:\n  r: {type: any}\nnodes:\n  n: {call: {capability: wait, with: {}}, write: {r: \"${result}\"}}\nedges:\n  - start -> n -> end\n"
	var took []time.Duration
	for b.Loop() {
		ids := f.queueAs(b, text, []string{fmt.Sprintf("c%d", len(took))})
		<-f.shop.busy
		begun := time.Now()
		if err := f.app.Store.RequestCancel(b.Context(), ids[0]); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-f.shop.ended).Sub(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
