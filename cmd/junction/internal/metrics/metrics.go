package metrics

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// routerNode is the node that routing decisions are timed as.
const routerNode = "server_router"

// Bounds of histograms' buckets, in seconds. 0.05 is the one that the alert on the
// router node asks about.
var (
	callBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	nodeBuckets  = []float64{.00001, .00005, .0001, .0005, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	storeBuckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
)

// Metrics counts what one process does. It is safe for concurrent use; nothing that
// is counted waits for a scrape.
type Metrics struct {
	registry *prometheus.Registry
	sources  atomic.Pointer[Sources]

	servers  *bounded[ofServer]
	nodes    *bounded[ofNode]
	decision prometheus.Observer

	handshakes        *prometheus.CounterVec
	handshakeDuration prometheus.Histogram
	nodeDuration      *prometheus.HistogramVec
	nodeRetries       *prometheus.CounterVec

	calls, errors, picks, toolErrors      *prometheus.CounterVec
	callDuration                          *prometheus.HistogramVec
	drift, heldBack, strays, resubscribed *prometheus.CounterVec
	probes                                *prometheus.CounterVec
	connections                           *prometheus.GaugeVec
	conns                                 connections

	hopDuration      prometheus.Histogram
	hops, duplicates *prometheus.CounterVec
	attempts         prometheus.Counter
	retries          prometheus.Counter
	budgetExhausted  prometheus.Counter
	hopOutcomes      [len(outcomes)]prometheus.Counter

	checkpoints  prometheus.Histogram
	durations    [len(operationNames)]prometheus.Observer
	storeErrors  *prometheus.CounterVec
	fenced       prometheus.Counter
	running      prometheus.Gauge
	threads      *prometheus.CounterVec
	workerEvents *prometheus.CounterVec
	supersteps   prometheus.Counter
}

// connections remembers where each server's connection stands.
type connections struct {
	mu sync.Mutex
	by map[string]mcp.State
}

// New returns metrics on a registry of their own. version is the program's.
func New(version string) *Metrics {
	r := prometheus.NewRegistry()
	f := factory{r}
	m := &Metrics{registry: r, conns: connections{by: map[string]mcp.State{}}}
	m.declareServers(f)
	m.declareHops(f)
	m.declareStore(f)
	m.declareThreads(f)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &gauges{m: m})
	f.gauges("junction_build_info", "What is running: 1.", "version", "goversion").WithLabelValues(label(version), runtime.Version()).Set(1)
	return m
}

func (m *Metrics) declareServers(f factory) {
	m.handshakes = f.counters("mcp_handshake_total", "Servers connected and read, by how it ended.", "status")
	m.handshakeDuration = f.histogram("mcp_handshake_duration_seconds", "Time to connect a server and read its tools, failed or not.", callBuckets)
	for _, status := range []string{success, failure} { // so that the first one is seen as a rise
		m.handshakes.WithLabelValues(status)
	}
	m.calls = f.counters("mcp_server_calls_total", "Attempts that ended, by their status.", "server_name", "status")
	m.callDuration = f.histograms("mcp_server_call_duration_seconds", "Time of an attempt.", callBuckets, "server_name")
	m.errors = f.counters("mcp_server_error_total", "Attempts that failed, by their code.", "server_name", "error_code")
	m.toolErrors = f.counters("mcp_server_tool_errors_total", "Results that were the tool's own error.", "server_name")
	m.picks = f.counters("mcp_server_picks_total", "Routing decisions that a server won.", "server_name")
	m.probes = f.counters("mcp_server_probes_total", "Probes of a capability, by what came of them.", "server_name", "result")
	m.drift = f.counters("mcp_server_drift_total", "Capability documents that changed.", "server_name", "same_version")
	m.heldBack = f.counters("mcp_server_held_back_total", "Tools found not to be as they were approved.", "server_name")
	m.strays = f.counters("mcp_server_strays_total", "Messages that belonged to no request and were dropped.", "server_name", "kind")
	m.resubscribed = f.counters("mcp_server_resubscriptions_total", "Subscriptions that ended and were made anew.", "server_name")
	m.connections = f.gauges("mcp_server_connections", "Servers by where their connection stands.", "state")
	m.servers = newBounded(mostServers, func(name string) *ofServer {
		return &ofServer{
			name: name, picks: m.picks.WithLabelValues(name), duration: m.callDuration.WithLabelValues(name),
			succeeded: m.calls.WithLabelValues(name, string(state.CallSuccess)),
		}
	})
}

func (m *Metrics) declareHops(f factory) {
	m.hopDuration = f.histogram("junction_hop_duration_seconds", "Time of a hop, attempts and waits included.", callBuckets)
	m.hops = f.counters("junction_hops_total", "Hops by how they ended.", "outcome")
	for i, outcome := range outcomes {
		m.hopOutcomes[i] = m.hops.WithLabelValues(outcome)
	}
	m.attempts = f.counter("junction_hop_attempts_total", "Requests made for hops.")
	m.retries = f.counter("junction_hop_retries_total", "Requests made for hops after their first.")
	m.budgetExhausted = f.counter("junction_retry_budget_exhausted_total", "Hops that ended for want of a retry.")
	m.duplicates = f.counters("junction_duplicates_suppressed_total", "What would have counted twice: answers that were dropped, results that were taken from the record.", "kind")
	for _, kind := range []string{replayedResult, string(mcp.LateAnswer), string(mcp.DuplicateAnswer), string(mcp.WrongID)} {
		m.duplicates.WithLabelValues(kind)
	}
}

func (m *Metrics) declareStore(f factory) {
	m.checkpoints = f.histogram("langgraph_checkpoint_duration_seconds", "Time of a superstep's commit in the store.", storeBuckets)
	durations := f.histograms("junction_store_operation_duration_seconds", "Time of a store's operation.", storeBuckets, "operation")
	for i, name := range operationNames {
		m.durations[i] = durations.WithLabelValues(name)
	}
	m.storeErrors = f.counters("junction_store_errors_total", "Operations that a store failed or refused.", "operation", "kind")
	m.fenced = f.counter("junction_fenced_writes_total", "Writes that the store refused since the worker's lease was lost.")
}

func (m *Metrics) declareThreads(f factory) {
	m.nodeDuration = f.histograms("langgraph_node_execution_duration_seconds", "Time of a node's run; server_router: of a routing decision.", nodeBuckets, "node")
	m.nodeRetries = f.counters("junction_node_retries_total", "Nodes run again after they failed.", "node")
	m.nodes = newBounded(mostNodes, func(name string) *ofNode {
		if name == routerNode { // a workflow's node of that name is not the router
			name = other
		}
		return &ofNode{name: name, duration: m.nodeDuration.WithLabelValues(name)}
	})
	m.decision = m.nodeDuration.WithLabelValues(routerNode)
	m.running = f.gauge("junction_threads_running", "Threads that are being run.")
	m.threads = f.counters("junction_threads_total", "Runs of threads that ended, by the thread's status.", "status")
	m.workerEvents = f.counters("junction_worker_events_total", "What happened to the worker.", "kind")
	m.supersteps = f.counter("junction_supersteps_total", "Supersteps that were committed.")
}

// ofServer is what is counted of a server on every hop.
type ofServer struct {
	name             string
	picks, succeeded prometheus.Counter
	duration         prometheus.Observer
}

// ofNode is what is counted of a node.
type ofNode struct {
	name     string
	duration prometheus.Observer
}

var (
	_ router.Observer       = (*Metrics)(nil)
	_ router.ServerObserver = (*Metrics)(nil)
)

// factory declares metrics on a registry.
type factory struct{ r *prometheus.Registry }

func (f factory) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	f.r.MustRegister(c)
	return c
}

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.r.MustRegister(c)
	return c
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	f.r.MustRegister(g)
	return g
}

func (f factory) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	f.r.MustRegister(g)
	return g
}

func (f factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	f.r.MustRegister(h)
	return h
}

func (f factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	f.r.MustRegister(h)
	return h
}
