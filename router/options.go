package router

import (
	"log/slog"
	"time"

	"junction/health"
)

// Options tune a router; the zero value of each field is its default.
type Options struct {
	Seed       uint64        // of draws and of jitter; 0: a random one. Each decision records its own
	Score      health.Score  // health.Product{}
	Transform  Transform     // Plain
	Picker     Picker        // WeightedRandom{}
	Idle, Max  time.Duration // of an attempt: 30 s and 5 min; only Max set → Idle = Max
	Attempts   int           // per hop and run: 3
	RetryShare float64       // retries per call, worker-wide: 0.2
	RetryFloor int           // retries that are always allowed at once: 3
	// Saturation is how long a hop waits while every server is at its declared
	// concurrency and none of them ends a call; while they do, the queue moves,
	// and only the attempt's maximum ends the wait. 0: the attempt's idle time.
	// Negative: it does not wait.
	Saturation time.Duration
	// Handshake limits how long a server may take to be connected and
	// described: 30 s.
	Handshake time.Duration
	// Grace is how long a hop waits for new servers still being connected once one
	// that fits is ready: 1 s. However many come, hops wait so for no more than a
	// twentieth of the time.
	Grace    time.Duration
	Hedge    Hedge              // of safe hops that take long; zero: none
	Fleet    *Fleet             // other workers whose load counts; nil: this one knows its own
	Rates    Rates              // error rates that others saw; nil: this worker's own
	Log      *slog.Logger       // told when what others see is not to be had, and is again; nil: nobody is
	Probe    ProbeOptions       // of servers, in the background; without Every there is none
	Observer Observer           // nil: nobody watches
	Trust    func(*Server) bool // whether a server's own effect hints count; nil: Server.Trusted
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Score == nil {
		d.Score = health.Product{}
	}
	if d.Picker == nil {
		d.Picker = WeightedRandom{}
	}
	d.Idle, d.Max = clocksOf(d.Idle, d.Max, 30*time.Second, 5*time.Minute)
	if d.Attempts <= 0 {
		d.Attempts = 3
	}
	if d.RetryShare <= 0 {
		d.RetryShare = 0.2
	}
	if d.RetryFloor <= 0 {
		d.RetryFloor = 3
	}
	d.Handshake = orDefault(d.Handshake, 30*time.Second)
	d.Grace = orDefault(d.Grace, time.Second)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Observer == nil {
		d.Observer = nobody{}
	}
	if d.Trust == nil {
		d.Trust = func(s *Server) bool { return s.Trusted }
	}
	return d
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// clocksOf resolves the idle and maximum clock: only Max set → Idle = Max; a
// default maximum never undercuts an idle time that was asked for.
func clocksOf(idle, maximum, defaultIdle, defaultMax time.Duration) (time.Duration, time.Duration) {
	switch {
	case idle <= 0 && maximum <= 0:
		return defaultIdle, defaultMax
	case idle <= 0:
		return maximum, maximum
	case maximum <= 0:
		return idle, max(idle, defaultMax)
	}
	return min(idle, maximum), maximum
}
