package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of the endpoint, which anybody who reaches it may ask.
const (
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
	headerTime    = 5 * time.Second
	readyTime     = 2 * time.Second
)

// Handler serves /metrics, and /mcp/metrics the same, in the format that is asked
// for; /healthz, which answers 200 for as long as the process does; and /readyz:
// 200, or 503 with what ready says is missing. What ready says must hold no secret.
func (m *Metrics) Handler(ready func(context.Context) error) http.Handler {
	scrape := promhttp.InstrumentMetricHandler(m.registry, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry: m.registry, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime, EnableOpenMetrics: true,
		ErrorHandling: promhttp.ContinueOnError, // one gauge that cannot be read is no reason to lose the others
	}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	mux.Handle("GET /mcp/metrics", scrape)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTime)
		defer cancel()
		if err := ready(ctx); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // it fails only when nobody is left to tell
}

// Endpoint is where metrics are served. Close it.
type Endpoint struct {
	Address string // host and port

	web    *http.Server
	served chan error
}

// Listen serves h at an address; port 0 is a free one.
func Listen(ctx context.Context, address string, h http.Handler) (*Endpoint, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		Address: l.Addr().String(), served: make(chan error, 1),
		web: &http.Server{Handler: h, ReadHeaderTimeout: headerTime, WriteTimeout: 2 * scrapeTime, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10},
	}
	go func() { e.served <- e.web.Serve(l) }()
	return e, nil
}

// Close ends the endpoint; scrapes under way may end within ctx.
func (e *Endpoint) Close(ctx context.Context) error {
	err := e.web.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, e.web.Close())
	}
	if served := <-e.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
