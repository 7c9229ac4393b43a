package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"junction/cmd/junction/internal/metrics"
	"junction/graph"
	"junction/router"
	"junction/state"
)

// BenchmarkWhatAHopPays is all that is counted of a hop of one attempt, in a node of
// its own, with eight at once.
func BenchmarkWhatAHopPays(b *testing.B) {
	m := metrics.New("test")
	tools := m.Tools(answering{})
	b.ReportAllocs()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		on, ended := m.Run()
		defer ended()
		ctx, at := b.Context(), time.Now()
		names := [8]string{}
		for i := range names {
			names[i] = fmt.Sprintf("server-%d", i)
		}
		for i := 0; pb.Next(); i++ {
			server := names[i%len(names)]
			on(graph.Event{Kind: graph.EventTask, Task: "t", Node: "n", Time: at})
			m.OnDecision(router.HopInfo{}, router.Decision{Picked: server, Took: time.Microsecond})
			m.OnAttempt(router.HopInfo{}, router.AttemptInfo{Server: server, Attempt: 1})
			m.OnOutcome(router.HopInfo{}, router.AttemptInfo{Server: server}, router.OutcomeInfo{Status: state.CallSuccess, Duration: time.Millisecond})
			if _, err := tools.Do(ctx, state.Call{}); err != nil {
				b.Fatal(err)
			}
			on(graph.Event{Kind: graph.EventTaskDone, Task: "t", Node: "n", Time: at})
			on(graph.Event{Kind: graph.EventCheckpoint})
		}
	})
}

func TestWhatIsCountedOfAHopAllocatesNothing(t *testing.T) {
	m := metrics.New("test")
	tools := m.Tools(answering{})
	ctx := t.Context()
	hop := func() {
		m.OnDecision(router.HopInfo{}, router.Decision{Picked: "a", Took: time.Microsecond})
		m.OnAttempt(router.HopInfo{}, router.AttemptInfo{Server: "a", Attempt: 1})
		m.OnOutcome(router.HopInfo{}, router.AttemptInfo{Server: "a"}, router.OutcomeInfo{Status: state.CallSuccess, Duration: time.Millisecond})
		_, _ = tools.Do(ctx, state.Call{})
	}
	hop() // what comes first is made
	if n := testing.AllocsPerRun(1000, hop); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
