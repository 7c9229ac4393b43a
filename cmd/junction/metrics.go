package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"junction/cmd/junction/internal/metrics"
	"junction/state"
)

// metricsAt is where a worker is scraped that was not told where.
const metricsAt = "127.0.0.1:9464"

// lastScrape bounds how long a worker that ends waits for a scrape under way.
const lastScrape = time.Second

// readiness says whether a worker takes threads.
type readiness struct {
	queue    state.Queue
	taking   atomic.Bool // servers are known
	draining atomic.Bool
}

// check is why the worker takes no threads, nil when it does. The store's own words
// stay in the log: they may say more than who asks here should know.
func (r *readiness) check(ctx context.Context) error {
	switch {
	case r.draining.Load():
		return errors.New("draining: no new thread is taken")
	case !r.taking.Load():
		return errors.New("starting: no server is known yet")
	}
	if _, _, err := r.queue.QueueLen(ctx); err != nil {
		return errors.New("the store does not answer")
	}
	return nil
}

// endpoint serves the worker's metrics where --metrics says; nil: nowhere. A
// default that another worker of this machine has is no reason not to start.
func (c *serveCmd) endpoint(ctx context.Context, m *metrics.Metrics, r *readiness, log *slog.Logger) (*metrics.Endpoint, error) {
	address := metricsAt
	if c.Metrics != nil {
		address = *c.Metrics
	}
	if address == "" {
		return nil, nil
	}
	h := m.Handler(r.check)
	e, err := metrics.Listen(ctx, address, h)
	if err != nil && c.Metrics == nil {
		log.Warn("the usual place for metrics is taken: another is used, which --metrics can choose", "taken", address)
		e, err = metrics.Listen(ctx, "127.0.0.1:0", h)
	}
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	log.Info("metrics are served", "at", "http://"+e.Address+"/metrics")
	return e, nil
}

// closeEndpoint ends what endpoint began.
func closeEndpoint(e *metrics.Endpoint, log *slog.Logger) {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastScrape)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		log.Warn("metrics were not served to the end", "error", err)
	}
}
