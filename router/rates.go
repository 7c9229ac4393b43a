package router

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"junction/health"
)

// Rates is a source of error rates outside of the router, which has seen more than
// this worker has.
type Rates interface {
	// ErrorRates returns the error rates over the last five minutes, [0, 1], of the
	// servers that it knows, by id.
	ErrorRates(ctx context.Context) (map[string]float64, error)
}

const (
	ratesEvery  = 15 * time.Second // by a fifth more or less
	ratesWithin = 5 * time.Second
	ratesLast   = 3 // intervals: then a worker's own windows count again
	ratesAway   = time.Minute
)

// ratesLoop asks the source once an interval, for all servers.
type ratesLoop struct {
	source Rates
	health *health.Tracker
	log    *slog.Logger
	rand   *rand.Rand
	failed int // in a row
	stop   context.CancelFunc
	done   chan struct{}
}

// askRates starts the loop; nil without a source.
func askRates(source Rates, t *health.Tracker, log *slog.Logger, seed uint64) *ratesLoop {
	if source == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &ratesLoop{source: source, health: t, log: log, rand: rand.New(rand.NewPCG(seed, hashOf("rates"))), stop: stop, done: make(chan struct{})}
	go l.run(ctx)
	return l
}

func (l *ratesLoop) close() {
	if l == nil {
		return
	}
	l.stop()
	<-l.done
}

func (l *ratesLoop) run(ctx context.Context) {
	defer close(l.done)
	wait := time.Duration(l.rand.Float64() * float64(time.Second)) // at first
	for {
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
		l.ask(ctx)
		mean := min(ratesEvery<<min(l.failed, 10), ratesAway)
		wait = time.Duration(float64(mean) * (0.8 + 0.4*l.rand.Float64()))
	}
}

func (l *ratesLoop) ask(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, ratesWithin)
	defer cancel()
	rates, err := l.source.ErrorRates(within)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		if l.failed++; l.failed == 1 {
			l.log.Warn("error rates are this worker's own: their source gives none", "error", err)
		}
		return
	case l.failed > 0:
		l.log.Info("error rates come from their source again")
	}
	l.failed = 0
	until := time.Now().Add(ratesLast * ratesEvery)
	for server, rate := range rates {
		l.health.SetErrorRate(server, rate, until)
	}
}
