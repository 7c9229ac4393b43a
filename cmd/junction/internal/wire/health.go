package wire

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"junction/router"
	"junction/router/history"
	"junction/state"
)

// keepHealth has how servers fare written to the store, where it keeps that.
func (a *App) keepHealth(s Settings) router.Observer {
	kept, ok := a.Store.(state.HealthStore)
	if !ok || s.Detach {
		return nil
	}
	host, _ := os.Hostname() // without one, the process id tells workers apart
	a.history = history.New(kept, &history.Options{
		Worker: cmp.Or(s.Worker, fmt.Sprintf("%s:%d", host, os.Getpid())), Readings: a.readings, Log: s.Log,
	})
	return a.history
}

// readings is what the router knows of servers now; nothing before there is one.
func (a *App) readings() []history.Reading {
	r := a.rates.Load()
	if r == nil {
		return nil
	}
	var all []history.Reading
	for _, h := range r.Health() {
		probe := h.Probe.Fault
		if h.Probe.Well() {
			probe = "ok"
		}
		all = append(all, history.Reading{
			Server: h.Server, Capability: h.Capability, InFlight: h.InFlight, P95: h.P95, Score: h.Score, Ejected: h.Ejected, Probe: probe,
		})
	}
	return all
}

// SaveHealth stores what was seen of servers up to now, which else comes once a
// minute: an explanation is about to be read.
func (a *App) SaveHealth(ctx context.Context) error {
	if a.history == nil {
		return nil
	}
	return a.history.Flush(ctx)
}

// closeHealth stores what is left. That it cannot be is no fault of what was done.
func (a *App) closeHealth(ctx context.Context) {
	if a.history == nil {
		return
	}
	if err := a.history.Close(ctx); err != nil && a.log != nil {
		a.log.Warn("how servers fared of late was not stored", "error", err)
	}
}
