package router_test

import (
	"context"
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

// probing is a fleet whose servers can be pinged, and that tells probes from calls by
// their arguments.
type probing struct {
	*fleet
	ping func(ctx context.Context, server string) error // nil: all are well

	mu    sync.Mutex
	pings []sent
	told  []string // of OnProbe
}

func (p *probing) Ping(ctx context.Context, s *router.Server) error {
	p.mu.Lock()
	p.pings = append(p.pings, sent{Server: s.ID, At: time.Now()})
	p.mu.Unlock()
	if p.ping == nil {
		return nil
	}
	return p.ping(ctx, s.ID)
}

func (*probing) OnDecision(router.HopInfo, router.Decision)                       {}
func (*probing) OnAttempt(router.HopInfo, router.AttemptInfo)                     {}
func (*probing) OnOutcome(router.HopInfo, router.AttemptInfo, router.OutcomeInfo) {}
func (*probing) OnProgress(router.HopInfo, router.AttemptInfo, router.Progress)   {}
func (p *probing) OnProbe(server string, well bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, fmt.Sprintf("%s %t", server, well))
}

// probed gives the server a probe of its capability.
func probed(s *router.Server, _ *script) { s.Offers[0].Probe = map[string]any{"probe": true} }

func isProbe(c router.ToolCall) bool { return c.Arguments["probe"] != nil }

// notes returns what was told of probes.
func (p *probing) notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// all returns what was sent to all servers.
func (p *probing) all() []sent {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	return slices.Clone(p.calls)
}

// sent returns the probes, or the calls, that the server was sent since a moment.
func (p *probing) sent(server string, since time.Time, probes bool) (all []sent) {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	for _, c := range p.calls {
		if c.Server == server && !c.At.Before(since) && isProbe(c.Call) == probes {
			all = append(all, c)
		}
	}
	return all
}

// whileProbed runs f in a bubble with a router that probes, and whose servers are known.
func whileProbed(t *testing.T, p *probing, o router.Options, run func(t *testing.T, r *router.Router)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Seed, o.Observer = 7, p
		if o.Probe.Every == 0 {
			o.Probe.Every = 15 * time.Second
		}
		r := router.New(p, p, &o)
		defer r.Close()
		r.Servers(t.Context())
		run(t, r)
	})
}

func healthOf(t *testing.T, r *router.Router, server string) router.ServerHealth {
	t.Helper()
	all := r.Health()
	i := slices.IndexFunc(all, func(h router.ServerHealth) bool { return h.Server == server && h.Capability == "work" })
	if i < 0 {
		t.Fatalf("no health of %s in %+v", server, all)
	}
	return all[i]
}

var down = fails(router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "connection refused"})

func TestAQuietServersCapabilityIsProbedByItsToolElseByAPing(t *testing.T) {
	p := &probing{fleet: newFleet().add("tool", probed).add("ping", nil).add("unsafe", func(s *router.Server, k *script) {
		probed(s, k)
		s.Offers[0].Effect = state.Unsafe
	})}
	whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
		begun := time.Now()
		pass(150 * time.Second)
		synctest.Wait()
		n := map[string]int{}
		for _, c := range p.all() {
			if !isProbe(c.Call) || c.Server != "tool" || c.Call.Max != 5*time.Second || c.Call.Idle != 5*time.Second {
				t.Errorf("sent to %s: %+v", c.Server, c.Call)
			}
			n["tool"]++
		}
		p.mu.Lock()
		pings := slices.Clone(p.pings)
		p.mu.Unlock()
		for _, c := range pings {
			n[c.Server+" pinged"]++
		}
		for what, want := range map[string]int{"tool": 10, "ping pinged": 10, "unsafe pinged": 10, "tool pinged": 0} {
			if got := n[what]; got < want-1 || got > want+1 {
				t.Errorf("%s: %d times in ten intervals, want about %d", what, got, want)
			}
		}
		for server, by := range map[string]string{"tool": router.ByTool, "ping": router.ByPing, "unsafe": router.ByPing} {
			if h := healthOf(t, r, server); h.Probe.String() != "ok" || h.Probe.By != by || h.Probe.At.Before(begun.Add(2*time.Minute)) {
				t.Errorf("%s: %+v", server, h.Probe)
			}
		}
		if told := p.notes(); len(told) < 27 || !slices.Contains(told, "tool true") {
			t.Errorf("told of %q", told)
		}
	})
}

func TestProbesOfServersAndOfWorkersDoNotBeatTogether(t *testing.T) {
	f := newFleet()
	for i := range 10 {
		f.add(fmt.Sprint("s", i), probed)
	}
	p := &probing{fleet: f}
	whileProbed(t, p, router.Options{}, func(t *testing.T, _ *router.Router) {
		second := router.New(p, p, &router.Options{Seed: 8, Probe: router.ProbeOptions{Every: 15 * time.Second}})
		defer second.Close()
		second.Servers(t.Context())
		pass(10 * time.Minute)
		synctest.Wait()
		at := map[time.Time]int{}
		for _, c := range p.all() {
			at[c.At.Truncate(time.Second)]++
		}
		for moment, n := range at {
			if n > 8 {
				t.Errorf("%d of 20 probes within the second of %s", n, moment)
			}
		}
	})
}

func TestTrafficThatSucceedsIsProof(t *testing.T) {
	p := &probing{fleet: newFleet().add("a", probed)}
	whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
		for range 60 {
			if _, err := r.Do(t.Context(), work); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Second)
		}
		if probes := p.sent("a", time.Time{}, true); len(probes) > 0 {
			t.Errorf("%d probes beside calls every five seconds", len(probes))
		}
		if h := healthOf(t, r, "a"); h.Probe.By != router.ByCall || !h.Probe.Well() {
			t.Errorf("last probe %+v, want a call in its place", h.Probe)
		}
		pass(time.Minute)
		if probes := p.sent("a", time.Time{}, true); len(probes) < 2 {
			t.Errorf("%d probes in a quiet minute", len(probes))
		}
	})
}

func TestThreeStrikesEjectAndTheFirstSuccessEndsIt(t *testing.T) {
	for _, by := range []string{router.ByTool, router.ByPing} {
		t.Run(by, func(t *testing.T) {
			var ill atomic.Bool
			p := &probing{fleet: newFleet()}
			p.ping = func(context.Context, string) error {
				if ill.Load() {
					return &router.CallError{Code: router.Transport, Message: "connection refused"}
				}
				return nil
			}
			p.add("a", func(s *router.Server, k *script) {
				if by == router.ByTool {
					probed(s, k)
				}
				k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
					if ill.Load() {
						return down(ctx, n, c)
					}
					return answers("a")(ctx, n, c)
				}
			}).add("b", nil)
			whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
				ill.Store(true)
				pass(24 * time.Second) // two at most
				if h := healthOf(t, r, "a"); h.Ejected {
					t.Fatalf("ejected before three strikes: %+v", h)
				}
				pass(31 * time.Second)
				if h := healthOf(t, r, "a"); !h.Ejected || h.Probe.Well() || !strings.Contains(h.Probe.Fault, "refused") {
					t.Fatalf("three strikes, and %+v", h)
				}
				pass(10 * time.Minute) // probes go on, and so does this
				for range 20 {
					a, err := r.Do(t.Context(), work)
					if err != nil || a.Server != "b" {
						t.Fatalf("%s, %v; want b", a.Server, err)
					}
				}
				ill.Store(false)
				since := time.Now()
				h := healthOf(t, r, "a")
				for ; h.Ejected && time.Since(since) < 19*time.Second; h = healthOf(t, r, "a") {
					pass(time.Second)
				}
				if h.Ejected || h.Ramp >= 1 || !h.Probe.Well() {
					t.Fatalf("it is well again, and %+v", h)
				}
				pass(10 * time.Second)
				if h := healthOf(t, r, "a"); h.Ramp != 1 {
					t.Errorf("slow start: %v of its weight ten seconds after", h.Ramp)
				}
			})
		})
	}
}

func TestAServerThatNeedsEightSecondsUnderAFiveSecondProbeIsNotLost(t *testing.T) {
	p := &probing{fleet: newFleet().add("slow", func(s *router.Server, k *script) {
		probed(s, k)
		k.answer = takes(8*time.Second, "slow")
	}).add("quick", nil)}
	whileProbed(t, p, router.Options{}, func(t *testing.T, r *router.Router) {
		out := 0
		for range 600 { // ten minutes without a call
			pass(time.Second)
			if healthOf(t, r, "slow").Ejected {
				out++
			}
		}
		h := healthOf(t, r, "slow")
		if out > 0 || !h.Probe.Well() || h.Probe.Took != 8*time.Second {
			t.Fatalf("ejected for %d of 600 s; last probe %+v", out, h.Probe)
		}
		n := 0
		for range 200 {
			a, err := r.Do(t.Context(), work)
			if err != nil {
				t.Fatal(err)
			}
			if a.Server == "slow" {
				n++
			}
		}
		if n == 0 {
			t.Error("none of 200 calls went there")
		}
	})
}

func TestAServerSlowerThanAnyProbeIsGivenACallNowAndThen(t *testing.T) {
	p := &probing{fleet: newFleet().add("slow", func(s *router.Server, k *script) {
		probed(s, k)
		k.answer = takes(100*time.Second, "slow")
	}).add("quick", nil)}
	whileProbed(t, p, router.Options{Max: 5 * time.Minute, Idle: 5 * time.Minute}, func(t *testing.T, r *router.Router) {
		pass(5 * time.Minute)
		if !healthOf(t, r, "slow").Ejected {
			t.Fatal("silent for five minutes and in order")
		}
		begun, open := time.Now(), 0
		for range 3600 {
			pass(time.Second)
			if !healthOf(t, r, "slow").Ejected {
				open++
			}
		}
		if open < 30 || open > 900 {
			t.Fatalf("within the hour since %s it could be called for %d s", begun, open)
		}
		for healthOf(t, r, "slow").Ejected {
			pass(time.Second)
		}
		for range 300 { // some of them go there
			go r.Do(t.Context(), work) //nolint:errcheck // only that they are made
		}
		pass(101 * time.Second)
		if h := healthOf(t, r, "slow"); h.Ejected || h.Latency != 100*time.Second {
			t.Errorf("calls succeeded there, and %+v", h)
		}
	})
}

func TestAProbeThatTimesOutBesideCallsIsNoStrike(t *testing.T) {
	for _, c := range []struct {
		name        string
		takes, rest time.Duration // of a call, and from its end to the next
	}{
		{"one call after another is under way", 250 * time.Second, 0},
		{"calls succeed while probes wait", time.Millisecond, 18 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &probing{fleet: newFleet().add("a", func(s *router.Server, k *script) {
				probed(s, k)
				k.answer = func(ctx context.Context, n int, call router.ToolCall) (*router.ToolResult, error) {
					if isProbe(call) {
						return takes(time.Hour, "a")(ctx, n, call)
					}
					return takes(c.takes, "a")(ctx, n, call)
				}
			}).add("b", func(s *router.Server, _ *script) { s.Weight = 1e-9 })}
			whileProbed(t, p, router.Options{Idle: 5 * time.Minute}, func(t *testing.T, r *router.Router) {
				begun, end := time.Now(), make(chan struct{})
				go func() {
					defer close(end)
					for time.Since(begun) < 20*time.Minute {
						if _, err := r.Do(t.Context(), work); err != nil {
							t.Error(err)
						}
						pass(c.rest)
					}
				}()
				for time.Since(begun) < 20*time.Minute {
					pass(time.Second)
					if h := healthOf(t, r, "a"); h.Ejected {
						t.Errorf("%s: its calls succeed, and %+v", time.Since(begun), h)
						break
					}
				}
				<-end
				if n := len(p.sent("a", time.Time{}, true)); n < 5 {
					t.Errorf("%d probes", n)
				}
			})
		})
	}
}
