package router_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/health"
	"junction/router"
)

// gauge is a source of error rates that says what it is told to.
type gauge struct {
	mu    sync.Mutex
	rates map[string]float64
	err   error
	asked int
}

func (g *gauge) ErrorRates(context.Context) (map[string]float64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.rates, g.err
}

func (g *gauge) say(rates map[string]float64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rates, g.err = rates, err
}

func TestErrorRatesFromOutsideCountUntilTheirSourceIsSilent(t *testing.T) {
	f := newFleet().add("a", nil).add("b", nil)
	g := &gauge{rates: map[string]float64{"a": 0.5, "unknown": 1}}
	log := new(bytes.Buffer)
	o := router.Options{Score: health.Linear{}, Rates: g, Log: slog.New(slog.NewTextHandler(log, nil))}
	inBubble(t, f, o, func(t *testing.T, r *router.Router) {
		errorsOf := func() (a, b float64) {
			d, err := r.Route(t.Context(), work)
			if err != nil {
				t.Fatal(err)
			}
			return d.Candidates[0].Terms.Of("errors"), d.Candidates[1].Terms.Of("errors")
		}
		if a, b := errorsOf(); a != 0.4 || b != 0.4 {
			t.Errorf("terms %v and %v before anything was asked, want 0.4", a, b)
		}
		pass(time.Minute)
		if a, b := errorsOf(); a != 0.2 || b != 0.4 {
			t.Errorf("terms %v and %v, want 0.2 for the one that fails half and 0.4", a, b)
		}
		if g.asked < 3 || g.asked > 7 {
			t.Errorf("asked %d times in a minute, want every 15s", g.asked)
		}
		g.say(nil, errors.New("gone"))
		pass(5 * time.Minute)
		if a, _ := errorsOf(); a != 0.4 {
			t.Errorf("term %v with the source gone, want the worker's own", a)
		}
		g.say(map[string]float64{"a": 1}, nil)
		pass(2 * time.Minute)
		if a, _ := errorsOf(); a != 0 {
			t.Errorf("term %v with the source back, want 0", a)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Count(log.String(), "again") != 1 {
			t.Errorf("told %d times:\n%s", n, log)
		}
	})
}
