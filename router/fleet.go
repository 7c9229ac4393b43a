package router

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"junction/health"
	"junction/state"
)

// Fleet joins a router's view of its servers with that of other workers: calls in
// flight and ejections. What it costs a worker, whatever it does:
//
//   - one Exchange every 260 to 440 ms, drawn anew each time: 2.9 scripts a second on
//     Redis, each of some ten commands and one more for each worker whose shares
//     come back, 32 at most;
//   - up: 40 to 80 bytes for each server in use, 256 of them at most; down: the same
//     for each of those workers, 64 KiB at most. Ten servers in use by a hundred
//     workers are 1.4 KB/s up and 43 KB/s down for each.
//
// Redis is busy for 30 µs with an exchange among three workers and for 0.2 ms with
// one that returns 32 of them.
//
// Beyond 140 workers they exchange less often, so that all of them together do 400
// times a second at most, and each of them sees a sample of 32, another each time,
// that it takes for the whole: a thousand workers exchange every 2.5 s each, at
// 6 MB/s of Redis for all of them in the example above and 26 MB/s at the utmost.
type Fleet struct {
	Store  state.ShareStore
	Worker string // this one's name, which no other has; "": made up
}

const (
	fleetEvery  = 350 * time.Millisecond  // on average, by a quarter more or less: news is 875 ms old at most
	fleetApart  = 2500 * time.Microsecond // between two exchanges of the whole fleet, on average
	fleetFade   = 3                       // intervals for which a share counts
	fleetWithin = time.Second             // an exchange takes
	fleetAway   = 5 * time.Second         // between tries at a store that fails, at most
	fleetLeave  = 250 * time.Millisecond  // for saying goodbye
)

// fleet is the loop that keeps a router's health in step with the others'.
type fleet struct {
	f       Fleet
	log     *slog.Logger
	health  *health.Tracker
	changed func() // who waits for a place is to look again
	rand    *rand.Rand

	others int  // at the last exchange
	failed int  // exchanges in a row
	told   bool // the last one stored shares
	stop   context.CancelFunc
	done   chan struct{}
}

// joinFleet starts the loop; nil without a fleet.
func joinFleet(f *Fleet, t *health.Tracker, changed func(), log *slog.Logger, seed uint64) *fleet {
	if f == nil || f.Store == nil {
		return nil
	}
	l := &fleet{f: *f, log: log, health: t, changed: changed, rand: rand.New(rand.NewPCG(seed, hashOf("fleet"))), done: make(chan struct{})}
	if l.f.Worker == "" {
		l.f.Worker = fmt.Sprintf("worker-%016x%016x", randomSeed(), randomSeed())
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.run(ctx)
	return l
}

// close ends the loop and takes the shares back; nil is none.
func (l *fleet) close() {
	if l == nil {
		return
	}
	l.stop()
	<-l.done
}

func (l *fleet) run(ctx context.Context) {
	defer close(l.done)
	for {
		t := time.NewTimer(l.wait())
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			l.leave(ctx)
			return
		}
		l.exchange(ctx)
	}
}

// interval is the mean time between two exchanges of a worker that is one of so many.
func interval(workers int) time.Duration {
	return max(fleetEvery, time.Duration(workers)*fleetApart)
}

// wait draws the time until the next exchange: no two workers beat together.
func (l *fleet) wait() time.Duration {
	mean := interval(l.others + 1)
	if l.failed > 0 {
		mean = min(mean<<min(l.failed, 10), max(fleetAway, mean))
	}
	return time.Duration(float64(mean) * (3 + 2*l.rand.Float64()) / 4)
}

// exchange tells what this worker knows and hears what the others do. A store that
// fails leaves what was heard, which fades.
func (l *fleet) exchange(ctx context.Context) {
	fade := fleetFade * interval(l.others+1)
	begun := time.Now()
	own := l.health.Shares(begun, state.MostShares)
	shares := make([]state.Share, len(own))
	for i, s := range own {
		shares[i] = state.Share(s)
	}
	within, cancel := context.WithTimeout(ctx, fleetWithin)
	all, err := l.f.Store.Exchange(within, l.f.Worker, shares, fade)
	cancel()
	if ctx.Err() != nil {
		l.told = true // perhaps
		return
	}
	defer l.changed() // also when nothing was heard: what had been fades
	if err != nil {
		if l.failed++; l.failed == 1 {
			l.log.Warn("the load of other workers is not known: servers are chosen by this worker's own", "error", err)
		}
		return
	}
	if l.failed > 0 {
		l.log.Info("the load of other workers is known again")
	}
	l.failed, l.told, l.others = 0, true, 0
	now := time.Now()
	peers := make([]health.Peer, len(all))
	for i, each := range all {
		l.others = each.Others
		peers[i].Age = each.Age + now.Sub(begun)
		peers[i].Shares = make([]health.Share, len(each.Shares))
		for j, s := range each.Shares {
			peers[i].Shares[j] = health.Share(s)
		}
	}
	l.health.Hear(now, peers, l.others, fade)
}

// leave takes the shares back, so that nobody counts calls that have ended.
func (l *fleet) leave(ctx context.Context) {
	if !l.told {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleetLeave)
	defer cancel()
	if _, err := l.f.Store.Exchange(within, l.f.Worker, nil, time.Millisecond); err != nil {
		l.log.Debug("the shares of this worker stay until they fade", "error", err)
	}
}
