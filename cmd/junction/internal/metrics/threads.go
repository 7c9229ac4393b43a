package metrics

import (
	"time"

	"junction/graph"
	"junction/graph/worker"
)

// Run counts a thread as running until ended is called, and its nodes and
// supersteps by the events of its run.
func (m *Metrics) Run() (on func(graph.Event), ended func()) {
	m.running.Inc()
	begun := map[string]time.Time{} // by task; events come one at a time
	return func(e graph.Event) {
		switch e.Kind {
		case graph.EventTask:
			begun[e.Task] = e.Time
		case graph.EventTaskDone:
			if at, known := begun[e.Task]; known {
				delete(begun, e.Task)
				m.nodes.of(e.Node).duration.Observe(e.Time.Sub(at).Seconds())
			}
		case graph.EventRetry:
			m.nodeRetries.WithLabelValues(m.nodes.of(e.Node).name).Inc()
		case graph.EventCheckpoint:
			m.supersteps.Inc()
		}
	}, m.running.Dec
}

// OnWorker counts what happens to the worker.
func (m *Metrics) OnWorker(e worker.Event) {
	m.workerEvents.WithLabelValues(string(e.Kind)).Inc()
	if e.Kind == worker.EventEnded {
		m.threads.WithLabelValues(string(e.Status)).Inc()
	}
}
