package lab

import (
	"context"
	"fmt"
	"time"

	"junction/health"
	"junction/router"
	"junction/state"
)

// start is the moment 0 of every run.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is one run: a scenario under one policy with one seed.
type world struct {
	s      *Scenario
	luck   luck
	at     time.Duration
	agenda agenda

	servers  []*server
	routers  []*balancer
	calls    []call
	attempts []attempt
	overdue  int // no attempt before this one is under way
	arrivals arrivals
	open     int // calls under way
	next     map[failure]router.Step
	tally    *tally
}

func newWorld(s *Scenario, policy string, seed uint64) *world {
	w := &world{s: s, luck: luck{seed}, next: map[failure]router.Step{}}
	for _, row := range router.RetryTable() {
		for f, means := range meaning {
			if row.Code == means.code && row.Execution == means.execution {
				w.next[f] = row.Next(s.Effect)
			}
		}
	}
	for i := range s.Servers {
		for _, name := range s.Servers[i].names() {
			w.servers = append(w.servers, newServer(&s.Servers[i], name))
		}
	}
	w.tally = newTally(w)
	for range s.Routers {
		w.routers = append(w.routers, newBalancer(w, policyNamed(policy)))
	}
	for n, v := range w.servers {
		w.plan(n, v)
	}
	if s.Share > 0 {
		for n := range w.routers {
			w.planExchange(n)
		}
	}
	w.arrivals = arrivals{chance: w.luck.stream(ofArrivals, 0, 0), rates: s.rates(), at: s.Calls.At, until: s.Duration}
	n := int(s.expected()*1.1) + 16
	w.calls, w.attempts = make([]call, 0, n), make([]attempt, 0, n)
	w.nextArrival()
	return w
}

// plan notes when a server comes, changes and goes.
func (w *world) plan(n int, v *server) {
	w.agenda.add(v.spec.Joins, joins, n)
	for _, c := range v.spec.Changes {
		w.agenda.add(c.At, changes, n)
		if c.For > 0 {
			w.agenda.add(c.At+c.For, changes, n)
		}
	}
	if v.spec.Leaves > 0 {
		w.agenda.add(v.spec.Leaves, leaves, n)
	}
}

func (w *world) now() time.Time { return start.Add(w.at) }

// in notes what happens after d.
func (w *world) in(d time.Duration, what happening, of int) { w.agenda.add(w.at+d, what, of) }

func (w *world) nextArrival() {
	if t, ok := w.arrivals.next(); ok {
		w.calls = append(w.calls, call{arrived: t, router: int(w.luck.number(ofRouters, len(w.calls), 0) % uint64(len(w.routers)))})
		w.open++
		w.agenda.add(t, arrives, len(w.calls)-1)
	}
}

// run lets everything happen until the last call has ended.
func (w *world) run(ctx context.Context) error {
	for n := 0; w.open > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		by, ok := w.agenda.peek()
		if w.timeOut(by) {
			continue
		}
		if !ok {
			return fmt.Errorf("scenario %s: %d calls wait for what never happens", w.s.Name, w.open)
		}
		e := w.agenda.next()
		w.at = e.at
		w.happen(e)
	}
	return nil
}

func (w *world) happen(e event) {
	switch e.what {
	case arrives:
		w.nextArrival()
		w.routers[w.calls[e.of].router].budget.Call()
		w.decide(e.of)
	case decides:
		w.decide(e.of)
	case spends:
		w.spend(e.of)
	case givesUp:
		w.giveUp(e.of)
	case finishes:
		w.finish(e.of)
	case refused:
		w.end(e.of, wasRefused)
	case hedges:
		w.hedge(e.of)
	case begun:
		w.series(&w.attempts[e.of]).Begin(0)
	case over:
		w.series(&w.attempts[e.of]).End(w.now(), health.Ignored, 0)
	case told:
		w.tell(&w.attempts[e.of])
	case changes:
		w.change(e.of)
	case joins:
		w.servers[e.of].present = true
		for _, b := range w.routers {
			b.join(w, e.of)
		}
	case leaves:
		w.servers[e.of].present = false
	case exchanges:
		w.exchange(e.of)
	}
}

// failure is how an attempt failed, as the lab knows it.
type failure uint8

const (
	none       failure = iota
	wasRefused         // the connection was
	wasLost            // with the server
	wentWrong          // an error of the server's
	wasLate            // the attempt's maximum
)

// meaning is what the router's table calls those.
var meaning = map[failure]struct {
	code      router.Code
	execution state.Execution
}{
	wasRefused: {router.Transport, state.NotExecuted},
	wasLost:    {router.Transport, state.Unknown},
	wentWrong:  {router.ServerError, state.Unknown},
	wasLate:    {router.Timeout, state.Unknown},
}
