package history

import (
	"fmt"
	"testing"

	"junction/router"
	"junction/state/memory"
)

// What a hop pays for the history, from as many goroutines as there are processors.
func BenchmarkOutcome(b *testing.B) {
	r := New(memory.New(nil), nil)
	defer func() {
		if err := r.Close(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	var servers [16]router.AttemptInfo
	for i := range servers {
		servers[i].Server = fmt.Sprint("server-", i)
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for n := 0; p.Next(); n++ {
			r.OnOutcome(router.HopInfo{Capability: "code-review"}, servers[n%len(servers)], fine)
		}
	})
}
