package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

func TestAHungServersProbesHoldNobodyElsesUp(t *testing.T) {
	p := &probing{fleet: newFleet()}
	for i := range 60 {
		p.add(fmt.Sprintf("hung%02d", i), func(s *router.Server, k *script) {
			probed(s, k)
			k.answer = takes(time.Hour, s.ID)
		})
	}
	p.add("well", probed)
	whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
		pass(10 * time.Minute)
		since := time.Now()
		pass(5 * time.Minute)
		if n := len(p.sent("well", since, true)); n < 15 {
			t.Errorf("%d probes in 20 intervals", n)
		}
		begun := time.Now()
		for range 20 {
			a, err := r.Do(t.Context(), work)
			if err != nil || a.Server != "well" {
				t.Fatalf("%s, %v", a.Server, err)
			}
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("calls took %s beside probes that hang", took)
		}
	})
}

func TestOneProbeToAServerAtATimeAndNoneThatIsNotWanted(t *testing.T) {
	var mu sync.Mutex
	now, most, n := 0, 0, 0
	busy := func(ctx context.Context, i int, c router.ToolCall) (*router.ToolResult, error) {
		mu.Lock()
		now, n = now+1, n+1
		most = max(most, now)
		mu.Unlock()
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		return takes(4*time.Second, "a")(ctx, i, c)
	}
	p := &probing{fleet: newFleet().add("a", func(s *router.Server, k *script) {
		k.answer, s.Offers = busy, nil
		for _, capability := range []string{"work", "play", "rest"} {
			s.Offers = append(s.Offers, router.Offer{Capability: capability, Tool: "do", Effect: state.Safe, Probe: map[string]any{"probe": true}})
		}
	}).add("full", func(s *router.Server, k *script) {
		probed(s, k)
		limited(1, 29*time.Second)(s, k)
	}).add("resting", func(s *router.Server, k *script) {
		probed(s, k)
		k.answer = fails(router.CallError{Code: router.ServerOverload, RetryAfter: 10 * time.Minute})
	})}
	whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Server = "full"
		go r.Do(t.Context(), call) //nolint:errcheck // it takes its place
		synctest.Wait()
		pass(28 * time.Second)
		if probes := p.sent("full", time.Time{}, true); len(probes) > 0 {
			t.Errorf("%d probes to a server at its declared concurrency", len(probes))
		}
		pass(5 * time.Minute)
		mu.Lock()
		if most != 1 || n < 40 {
			t.Errorf("%d probes, %d at once; want each of three capabilities, one at a time", n, most)
		}
		mu.Unlock()
		if probes := p.sent("resting", time.Time{}, true); len(probes) != 1 {
			t.Errorf("%d probes to a server that asked to be left alone", len(probes))
		}
	})
}

func TestWhatIsNoFaultOfTheServersIsNoStrike(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer reply
		fault  string
	}{
		{"arguments that its schema refuses", fails(router.CallError{Code: router.CapabilityMismatch, Message: "code is missing"}), "code is missing"},
		{"no credential", fails(router.CallError{Code: router.AuthRequired, Message: "401"}), "401"},
		{"the tool's own error", func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{IsError: true, Text: "quota"}, nil
		}, "the tool's own error: quota"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &probing{fleet: newFleet().add("a", func(s *router.Server, k *script) { probed(s, k); k.answer = c.answer })}
			whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
				pass(5 * time.Minute)
				if h := healthOf(t, r, "a"); h.Ejected || !strings.Contains(h.Probe.Fault, c.fault) || slices.Contains(p.notes(), "a true") {
					t.Errorf("%+v, told %q", h, p.notes())
				}
			})
		})
	}
}

func TestAServerFailingEveryCallGetsNextToNoneOfThemWhateverItsProbesSay(t *testing.T) {
	for _, well := range []bool{true, false} {
		t.Run(fmt.Sprintf("probes are well: %t", well), func(t *testing.T) {
			p := &probing{fleet: newFleet()}
			for i := range 10 {
				p.add(fmt.Sprint("s", i), func(s *router.Server, k *script) {
					probed(s, k)
					k.answer = takes(100*time.Millisecond, s.ID)
					if i == 0 {
						k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
							if well && isProbe(c) {
								return answers("s0")(ctx, n, c)
							}
							return fails(router.CallError{Code: router.ServerError, Execution: state.Unknown})(ctx, n, c)
						}
					}
				})
			}
			whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
				begun := time.Now()
				for time.Since(begun) < 2*time.Minute {
					go func() {
						if _, err := r.Do(t.Context(), work); err != nil {
							t.Error(err)
						}
					}()
					pass(10 * time.Millisecond)
				}
				pass(time.Second)
				since := begun.Add(3 * time.Second)
				bad := len(p.sent("s0", since, false))
				all := bad
				for i := 1; i < 10; i++ {
					all += len(p.sent(fmt.Sprint("s", i), since, false))
				}
				share := float64(bad) / float64(all)
				t.Logf("%d of %d calls, %.3f %%", bad, all, 100*share)
				if share >= 0.003 || all < 11_000 {
					t.Errorf("%d of %d calls after 3 s", bad, all)
				}
			})
		})
	}
}

func TestAServerThatCannotBeConnectedIsAskedAgainWithoutACall(t *testing.T) {
	off := errors.New("it is off")
	var asked atomic.Int32
	p := &probing{fleet: newFleet().add("a", func(s *router.Server, k *script) {
		k.describe = func(context.Context) (*router.Description, error) {
			if asked.Add(1) < 4 {
				return nil, off
			}
			return &router.Description{Name: s.ID, Tools: k.tools}, nil
		}
	})}
	whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
		pass(19 * time.Second)
		if h := healthOf(t, r, "a"); h.Probe.By != router.ByHandshake || h.Probe.Fault != "it is off" {
			t.Errorf("%+v", h.Probe)
		}
		pass(time.Minute)
		if h := healthOf(t, r, "a"); h.Probe.By != router.ByPing || !h.Probe.Well() {
			t.Errorf("it is on again: %+v", h.Probe)
		}
	})
}

func TestNobodyIsProbedUnaskedOrBeforeItsTime(t *testing.T) {
	p := &probing{fleet: newFleet().add("a", probed)}
	synctest.Test(t, func(t *testing.T) {
		early := router.New(p, p, &router.Options{Probe: router.ProbeOptions{Every: 15 * time.Second, After: 15 * time.Second}})
		unasked := router.New(p, p, &router.Options{Probe: router.ProbeOptions{Every: 15 * time.Second}})
		without := router.New(p, p, nil)
		asking := router.New(p, p, &router.Options{Probe: router.ProbeOptions{Every: 15 * time.Second, After: 2 * time.Minute, All: true}})
		defer asking.Close()
		defer early.Close()
		defer unasked.Close()
		defer without.Close()
		early.Servers(t.Context())
		without.Servers(t.Context())
		pass(15*time.Second - 1)
		if n := len(p.all()); n > 0 {
			t.Errorf("%d probes", n)
		}
		early.Close()
		pass(time.Minute)
		if n := len(p.all()); n > 0 {
			t.Errorf("%d probes", n)
		}
		pass(2 * time.Minute)
		asking.Close()
		before := len(p.all())
		if h := healthOf(t, asking, "a"); before == 0 || !h.Probe.Well() {
			t.Errorf("%d probes of one who asks all servers, %+v", before, h)
		}
		without.Probe(t.Context())
		if h := healthOf(t, without, "a"); len(p.all()) != before+1 || !h.Probe.Well() {
			t.Errorf("asked for one: %d probes, %+v", len(p.all())-before, h)
		}
	})
}

func TestCloseEndsProbesUnderWay(t *testing.T) {
	p := &probing{fleet: newFleet().add("a", func(s *router.Server, k *script) {
		probed(s, k)
		k.answer = takes(time.Hour, "a")
	})}
	whileProbed(t, p, router.Options{Probe: router.ProbeOptions{Every: 15 * time.Second, Timeout: time.Hour}}, func(t *testing.T, r *router.Router) {
		pass(20 * time.Second)
		begun := time.Now()
		r.Close()
		if took := time.Since(begun); took > 0 || len(p.all()) != 1 {
			t.Errorf("Close took %s with %d probes", took, len(p.all()))
		}
		if len(p.notes()) > 0 || healthOf(t, r, "a").Probe.String() != "" {
			t.Errorf("what was cut short says something: %q", p.notes())
		}
	})
}
