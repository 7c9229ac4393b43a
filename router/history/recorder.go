package history

import (
	"context"
	"hash/fnv"
	"log/slog"
	"os"
	"sync"
	"time"

	"junction/router"
	"junction/state"
)

// Reading is what a router knows now of a server doing a capability.
type Reading struct {
	Server, Capability string
	InFlight           int
	P95                time.Duration // of the last five minutes; 0: no sample
	Score              float64       // [0, 1]
	Ejected            bool
	Probe              string // of the last probe: "ok", or what was wrong; "": none
}

func (r Reading) fill(h *state.HealthSample) {
	h.InFlight, h.P95, h.Score, h.Ejected, h.Probe = r.InFlight, r.P95, r.Score, r.Ejected, r.Probe
}

// troubled: worth a sample although nothing was counted.
func (r Reading) troubled() bool {
	return r.Ejected || r.InFlight > 0 || r.Probe != "" && r.Probe != "ok"
}

// Options tune a recorder; nil and zero values are the defaults.
type Options struct {
	Worker   string           // names the samples; "": the host
	Readings func() []Reading // what is known of servers; must not block. nil: only what was counted
	Log      *slog.Logger     // nil: discarded
}

// writeWithin bounds one write.
const writeWithin = 5 * time.Second

// Recorder is a [router.Observer]. It is safe for concurrent use. Close it.
type Recorder struct {
	store  state.HealthStore
	o      Options
	after  time.Duration // from a minute's end to its writing: workers do not write together
	asks   chan ask
	quit   chan struct{}
	closed sync.Once
	done   chan struct{}

	mu     sync.Mutex
	counts counts

	away, over bool // of the goroutine alone: said that the store is away, that the bound is reached
}

// ask is somebody's wish that everything be written now.
type ask struct {
	ctx  context.Context
	done chan error
}

var _ router.Observer = (*Recorder)(nil)

// New returns a recorder that writes to s.
func New(s state.HealthStore, o *Options) *Recorder {
	r := &Recorder{store: s, asks: make(chan ask), quit: make(chan struct{}), done: make(chan struct{})}
	if o != nil {
		r.o = *o
	}
	if r.o.Worker == "" {
		r.o.Worker, _ = os.Hostname() // without one, this machine's workers are one
	}
	if r.o.Log == nil {
		r.o.Log = slog.New(slog.DiscardHandler)
	}
	h := fnv.New32a()
	h.Write([]byte(r.o.Worker)) // never fails
	r.after = time.Duration(h.Sum32()%10_000) * time.Millisecond
	go r.loop()
	return r
}

// OnOutcome counts one.
func (r *Recorder) OnOutcome(h router.HopInfo, a router.AttemptInfo, o router.OutcomeInfo) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.add(now, a.Server, h.Capability, o)
}

// OnDecision implements [router.Observer].
func (*Recorder) OnDecision(router.HopInfo, router.Decision) {}

// OnAttempt implements [router.Observer].
func (*Recorder) OnAttempt(router.HopInfo, router.AttemptInfo) {}

// OnProgress implements [router.Observer].
func (*Recorder) OnProgress(router.HopInfo, router.AttemptInfo, router.Progress) {}

// Flush writes all that was counted, the minute that is not over, too.
func (r *Recorder) Flush(ctx context.Context) error {
	a := ask{ctx, make(chan error, 1)}
	select {
	case r.asks <- a:
	case <-ctx.Done():
		return ctx.Err()
	case <-r.quit:
		return os.ErrClosed
	}
	return <-a.done // bounded: a write ends with ctx
}

// Close writes what is left and ends the recorder. A second call does nothing.
func (r *Recorder) Close(ctx context.Context) (err error) {
	r.closed.Do(func() {
		err = r.Flush(ctx)
		close(r.quit)
		<-r.done
	})
	return err
}

func (r *Recorder) loop() {
	defer close(r.done)
	timer := time.NewTimer(r.wait(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			now := time.Now()
			r.say(r.write(context.Background(), now, minuteOf(now)-60))
			timer.Reset(r.wait(time.Now()))
		case a := <-r.asks:
			now := time.Now()
			a.done <- r.write(a.ctx, now, minuteOf(now))
		case <-r.quit:
			return
		}
	}
}

// wait is from now to some time after the end of this minute.
func (r *Recorder) wait(now time.Time) time.Duration {
	return now.Truncate(time.Minute).Add(time.Minute + r.after).Sub(now)
}

// write stores the minutes up to and with until; those that are over are done then.
func (r *Recorder) write(ctx context.Context, now time.Time, until int64) error {
	var readings []Reading
	if r.o.Readings != nil {
		readings = r.o.Readings()
	}
	r.mu.Lock()
	samples := r.counts.samples(r.o.Worker, until, readings)
	r.mu.Unlock()
	var err error
	if len(samples) > 0 {
		ctx, cancel := context.WithTimeout(ctx, writeWithin)
		defer cancel()
		err = r.store.PutHealth(ctx, samples)
	}
	stored := min(until, minuteOf(now)-60)
	if err != nil {
		stored = 0
	}
	r.mu.Lock()
	r.counts.forget(now, stored)
	dropped := r.counts.dropped
	r.mu.Unlock()
	if dropped > 0 && !r.over {
		r.over = true
		r.o.Log.Warn("the history of servers has gaps: there is more than is kept in memory", "outcomes", dropped)
	}
	return err
}

// say logs the beginning and the end of an outage.
func (r *Recorder) say(err error) {
	switch {
	case err != nil && !r.away:
		r.o.Log.Warn("how servers fare could not be stored; it is tried again each minute", "error", err)
	case err == nil && r.away:
		r.o.Log.Info("how servers fare is stored again")
	}
	r.away = err != nil
}
