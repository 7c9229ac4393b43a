package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// counts are what a server measures of itself, on a registry of its own: its side of
// handshakes and calls, under the names that a router counts its own side by.
type counts struct {
	registry          *prometheus.Registry
	handshakes        *prometheus.CounterVec
	handshakeDuration prometheus.Histogram
	calls             *prometheus.CounterVec
	duration          prometheus.Observer
	inFlight          prometheus.Gauge
	toolErrors        prometheus.Counter

	mu    sync.Mutex
	began map[any]time.Time // of handshakes under way, by their message
}

// handshakesSeen bounds how many handshakes are timed at once.
const handshakesSeen = 1024

func newCounts(server string) *counts {
	named := prometheus.Labels{"server_name": server}
	c := &counts{
		registry: prometheus.NewRegistry(), began: map[any]time.Time{},
		handshakes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcp_handshake_total", Help: "Handshakes of clients, by how they ended."}, []string{"status"}),
		handshakeDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mcp_handshake_duration_seconds", Help: "Time to answer a client's handshake.", Buckets: prometheus.ExponentialBuckets(.00001, 4, 10)}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcp_server_calls_total", Help: "Calls of tools, by how they ended.", ConstLabels: named}, []string{"status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mcp_server_calls_in_flight", Help: "Calls under way.", ConstLabels: named}),
		toolErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mcp_server_tool_errors_total", Help: "Results that were the tool's own error.", ConstLabels: named}),
	}
	duration := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mcp_server_call_duration_seconds", Help: "Time of a call.", ConstLabels: named,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}})
	c.duration = duration
	c.registry.MustRegister(c.handshakes, c.handshakeDuration, c.calls, c.inFlight, c.toolErrors, duration,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, status := range []string{"success", "failure"} { // so that the first one is seen as a rise
		c.handshakes.WithLabelValues(status)
	}
	return c
}

// handler serves them to who scrapes.
func (c *counts) handler() http.Handler {
	return promhttp.HandlerFor(c.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// watch counts the handshakes of a server with these hooks.
func (c *counts) watch(h *mcpserver.Hooks) {
	h.AddBeforeAny(func(_ context.Context, _ any, method mcp.MCPMethod, message any) {
		if !opens(method) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.began) < handshakesSeen {
			c.began[message] = time.Now()
		}
	})
	h.AddOnSuccess(func(_ context.Context, _ any, method mcp.MCPMethod, message, _ any) {
		c.opened(method, message, "success")
	})
	h.AddOnError(func(_ context.Context, _ any, method mcp.MCPMethod, message any, _ error) {
		c.opened(method, message, "failure")
	})
}

// opens says that a method begins what a client does: in each era another one.
func opens(method mcp.MCPMethod) bool {
	return method == mcp.MethodInitialize || method == mcp.MethodServerDiscover
}

func (c *counts) opened(method mcp.MCPMethod, message any, status string) {
	if !opens(method) {
		return
	}
	c.handshakes.WithLabelValues(status).Inc()
	c.mu.Lock()
	begun, known := c.began[message]
	delete(c.began, message)
	c.mu.Unlock()
	if known {
		c.handshakeDuration.Observe(time.Since(begun).Seconds())
	}
}

// called counts a call that begins, and returns what counts its end.
func (c *counts) called() (ended func(context.Context, *mcp.CallToolResult, error)) {
	c.inFlight.Inc()
	begun := time.Now()
	return func(ctx context.Context, r *mcp.CallToolResult, err error) {
		c.inFlight.Dec()
		c.duration.Observe(time.Since(begun).Seconds())
		status := "success"
		switch {
		case errors.Is(context.Cause(ctx), context.Canceled) && err != nil:
			status = "cancelled"
		case err != nil:
			status = "error"
		case r != nil && r.IsError:
			c.toolErrors.Inc()
		}
		c.calls.WithLabelValues(status).Inc()
	}
}
