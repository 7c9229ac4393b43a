package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"junction/router"
	"junction/state"
)

// Health is how one server fares with one capability, as it is routed by.
type Health struct {
	Server   string
	Score    float64 // [0, 1]
	InFlight int     // this worker's calls at the server, whatever for
	Ejected  bool
}

// Fares is what a router knows of its servers. It asks none of them.
func Fares(r *router.Router) func() []Health {
	return func() []Health {
		known := r.Health()
		all := make([]Health, len(known))
		for i, h := range known {
			all[i] = Health{Server: h.Server, Score: h.Score, InFlight: h.Own, Ejected: h.Ejected}
		}
		return all
	}
}

// Sources are asked at a scrape for what is not counted as it happens; nil ones are
// left out.
type Sources struct {
	Health func() []Health // must not block
	Queue  state.Queue
}

// Ask has scrapes ask these from now on.
func (m *Metrics) Ask(s Sources) { m.sources.Store(&s) }

const (
	queueFresh = 5 * time.Second // how long the queue's depth is believed
	queueWait  = 2 * time.Second // bounds one question
)

// gauges are the metrics that are read at a scrape.
type gauges struct {
	m *Metrics

	mu     sync.Mutex
	asking bool
	asked  time.Time
	known  bool
	due    int
	later  int
}

var (
	scoreDesc    = prometheus.NewDesc("mcp_server_health_score", "Health by the score in force, the lowest of the server's capabilities; 0 while it is ejected.", []string{"server_name"}, nil)
	inFlightDesc = prometheus.NewDesc("mcp_server_calls_in_flight", "Calls under way.", []string{"server_name"}, nil)
	ejectedDesc  = prometheus.NewDesc("mcp_server_ejected", "1 while the server is left alone after failures.", []string{"server_name"}, nil)
	queueDesc    = prometheus.NewDesc("junction_queue_depth", "Queued threads: due now, and in a turn or due later.", []string{"state"}, nil)
)

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{scoreDesc, inFlightDesc, ejectedDesc, queueDesc} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	s := g.m.sources.Load()
	if s == nil {
		return
	}
	defer g.m.forget(time.Now())
	tell := func(d *prometheus.Desc, v float64, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, label)
	}
	if s.Health != nil {
		for name, h := range g.m.byServer(s.Health()) {
			ejected := 0.0
			if h.Ejected {
				h.Score, ejected = 0, 1
			}
			tell(scoreDesc, h.Score, name)
			tell(inFlightDesc, float64(h.InFlight), name)
			tell(ejectedDesc, ejected, name)
		}
	}
	if s.Queue == nil {
		return
	}
	if due, later, known := g.depth(s.Queue); known {
		tell(queueDesc, float64(due), "due")
		tell(queueDesc, float64(later), "later")
	}
}

// byServer folds what is known of capabilities into one for each server, by label:
// the lowest score. Servers beyond the bound are one.
func (m *Metrics) byServer(all []Health) map[string]Health {
	by := make(map[string]Health, len(all))
	for _, h := range all {
		name := m.servers.of(h.Server).name
		if sofar, more := by[name]; more {
			h.Score, h.InFlight = min(h.Score, sofar.Score), max(h.InFlight, sofar.InFlight)
			h.Ejected = h.Ejected || sofar.Ejected
		}
		by[name] = h
	}
	return by
}

// forget drops the series of servers that left long ago: those that are known are
// looked up at each scrape.
func (m *Metrics) forget(now time.Time) {
	m.servers.sweep(now, func(name string) {
		gone := prometheus.Labels{"server_name": name}
		for _, of := range []interface {
			DeletePartialMatch(labels prometheus.Labels) int
		}{
			m.calls, m.callDuration, m.errors, m.toolErrors, m.picks, m.probes, m.drift, m.heldBack, m.strays, m.resubscribed,
		} {
			of.DeletePartialMatch(gone)
		}
	})
}

// depth asks the queue, no more often than it is worth; meanwhile, and while it
// cannot be asked, what was known stands for a little longer, and then nothing does.
func (g *gauges) depth(q state.Queue) (due, later int, known bool) {
	g.mu.Lock()
	if g.asking || g.known && time.Since(g.asked) < queueFresh {
		defer g.mu.Unlock()
		return g.due, g.later, g.known
	}
	g.asking = true
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), queueWait)
	defer cancel()
	due, later, err := q.QueueLen(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asking, g.asked, g.known = false, time.Now(), err == nil
	g.due, g.later = due, later
	return due, later, g.known
}
