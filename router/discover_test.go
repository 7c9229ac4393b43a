package router_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"junction/health"
	"junction/router"
	"junction/state"
)

func rejections(t *testing.T, err error) map[string]router.Rejection {
	t.Helper()
	none, ok := errors.AsType[*router.NoCandidateError](err)
	if !ok {
		t.Fatalf("%v; want that there is no candidate", err)
	}
	by := map[string]router.Rejection{}
	for _, r := range none.Rejected {
		by[r.Server] = r
		if !strings.Contains(err.Error(), r.Server) || !strings.Contains(err.Error(), r.Detail) {
			t.Errorf("error %q does not say why not %s", err, r.Server)
		}
	}
	return by
}

func TestEveryServerIsRejectedWithItsReason(t *testing.T) {
	refused := &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "it ended at once",
		Stderr: []string{"Error: Cannot find module 'x'"}}
	f := newFleet().
		add("another capability", func(s *router.Server, _ *script) { s.Offers[0].Capability = "play" }).
		add("another language", func(s *router.Server, _ *script) {
			s.Offers[0].Attributes = map[string][]string{"language": {"go", "c"}}
		}).
		add("no language", nil).
		add("no tool", func(s *router.Server, k *script) {
			s.Offers[0].Attributes = map[string][]string{"Language": {"Rust"}}
			k.tools = []router.Tool{{Name: "other"}}
		}).
		add("arguments", func(s *router.Server, k *script) {
			s.Offers[0].Attributes = map[string][]string{"language": {"rust"}}
			k.tools = []router.Tool{{Name: "do", InputSchema: []byte(`{"properties": {"x": {"type": "string"}}}`)}}
		}).
		add("dead", func(s *router.Server, k *script) {
			s.Offers[0].Attributes = map[string][]string{"language": {"rust"}}
			k.describe = func(context.Context) (*router.Description, error) { return nil, refused }
		}).
		add("silent", func(s *router.Server, _ *script) { s.Offers = nil })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Need = map[string]any{"language": "rust"}
		ctx, j := task{}.context(t)
		_, err := r.Do(ctx, call)
		by := rejections(t, err)
		for server, want := range map[string][2]string{
			"another capability": {"capability", "it offers play"},
			"another language":   {"need", "needs language rust; it has go, c"},
			"no language":        {"need", "it declares no language"},
			"no tool":            {"tool_missing", `no tool "do"; it has other`},
			"arguments":          {"contract", "at x: got number, want string"},
			"dead":               {"unreachable", "Cannot find module"},
			"silent":             {"capability", "offers no capability"},
		} {
			if got := by[server]; got.Reason != want[0] || !strings.Contains(got.Detail, want[1]) {
				t.Errorf("%s: %s (%s), want %s (…%s…)", server, got.Reason, got.Detail, want[0], want[1])
			}
		}
		if f.refreshes != 1 || len(f.calls) != 0 {
			t.Errorf("looked anew %d times and called %d times; want once, and none", f.refreshes, len(f.calls))
		}
		rec := j.Known()[0]
		if rec.Attempt != 0 || rec.Status != state.CallRejected || rec.Code != router.CodeNoCandidate || !rec.Final || !strings.Contains(string(rec.Decision), "needs language rust") {
			t.Errorf("record %+v", rec)
		}
	})
}

func TestNoServerAtAllSaysWhatToDo(t *testing.T) {
	inBubble(t, newFleet(), router.Options{}, func(t *testing.T, r *router.Router) {
		_, err := r.Do(t.Context(), work)
		if len(rejections(t, err)) != 0 || !strings.Contains(err.Error(), "mcpServers") {
			t.Errorf("%v", err)
		}
	})
}

func TestAServerFoundByTheFreshLookIsUsed(t *testing.T) {
	f := newFleet()
	f.onRefresh = func() { f.add("late", nil) }
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if a, err := r.Do(t.Context(), work); err != nil || a.Server != "late" {
			t.Fatalf("%+v, %v; want the server that came up", a, err)
		}
	})
}

func TestAServerThatComesUpLaterAppearsByItself(t *testing.T) {
	up := false
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.describe = func(context.Context) (*router.Description, error) {
			if !up {
				return nil, errors.New("connection refused")
			}
			return &router.Description{Tools: []router.Tool{{Name: "do"}}}, nil
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(t.Context(), work); err == nil {
			t.Fatal("a dead server answered")
		}
		up = true
		if _, err := r.Do(t.Context(), work); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNeedsAndPreferences(t *testing.T) {
	attributes := map[string][]string{"language": {"Go", "c"}, "n": {"3"}}
	for _, c := range []struct {
		name         string
		need, prefer map[string]any
		fits         bool
		match        float64
	}{
		{"nothing asked", nil, nil, true, 1},
		{"without case, names too", map[string]any{"LANGUAGE": "gO"}, nil, true, 1},
		{"any of several", map[string]any{"language": []any{"rust", "go"}}, nil, true, 1},
		{"none of several", map[string]any{"language": []any{"rust", "java"}}, nil, false, 0},
		{"a number", map[string]any{"n": int64(3)}, nil, true, 1},
		{"an empty need fits nobody", map[string]any{"language": nil}, nil, false, 0},
		{"an undeclared attribute", map[string]any{"colour": "red"}, nil, false, 0},
		{"the server's depth", map[string]any{"review_depth": "deep"}, nil, true, 1},
		{"half of the preferences", nil, map[string]any{"language": "c", "review_depth": "shallow"}, true, 0.5},
		{"no preference met is no rejection", nil, map[string]any{"colour": "red"}, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, _ *script) {
				s.Offers[0].Attributes, s.Depth = attributes, "deep"
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				d, err := r.Route(t.Context(), state.Call{Capability: "Work", Need: c.need, Prefer: c.prefer})
				if (err == nil) != c.fits {
					t.Fatalf("%v; want fit %v", err, c.fits)
				}
				if c.fits && d.Candidates[0].Match != c.match {
					t.Errorf("match %v, want %v", d.Candidates[0].Match, c.match)
				}
				if !c.fits && len(d.Rejected) == 0 {
					t.Error("the decision does not say why")
				}
			})
		})
	}
}

func TestAHungHandshakeHoldsUpNobodyForLongerThanTheGrace(t *testing.T) {
	hang := func(_ *router.Server, k *script) {
		k.describe = func(ctx context.Context) (*router.Description, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	f := newFleet().add("hung", hang).add("well", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		for i, most := range []time.Duration{time.Second, 0, 0} {
			begun := time.Now()
			a, err := r.Do(t.Context(), work)
			if err != nil || a.Server != "well" {
				t.Fatalf("%+v, %v", a, err)
			}
			if d := time.Since(begun); d > most {
				t.Errorf("hop %d waited %s, want at most %s", i+1, d, most)
			}
		}
		d, err := r.Route(t.Context(), work)
		if err != nil || len(d.Rejected) != 1 || d.Rejected[0].Reason != "unreachable" || !strings.Contains(d.Rejected[0].Detail, "under way") {
			t.Errorf("%+v, %v; want that the handshake is under way", d.Rejected, err)
		}
	})
	t.Run("who gives up waiting is told how long it has lasted", func(t *testing.T) {
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			all := r.Servers(ctx)
			if err := all[0].Err; err == nil || !strings.Contains(err.Error(), "under way after 4s") {
				t.Errorf("%v", err)
			}
		})
	})
	t.Run("alone it ends at its own limit", func(t *testing.T) {
		inBubble(t, newFleet().add("hung", hang), router.Options{Handshake: 10 * time.Second}, func(t *testing.T, r *router.Router) {
			begun := time.Now()
			_, err := r.Do(t.Context(), work)
			if by := rejections(t, err); by["hung"].Reason != "unreachable" || time.Since(begun) > 25*time.Second {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
		})
	})
}

func TestOneOfThreeServersRefusesAndTheOthersServe(t *testing.T) {
	f := newFleet().add("a", nil).add("b", nil).add("dead", func(_ *router.Server, k *script) {
		k.describe = func(context.Context) (*router.Description, error) { return nil, errors.New("connection refused") }
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		seen := map[string]bool{}
		for range 50 {
			a, err := r.Do(t.Context(), work)
			if err != nil {
				t.Fatal(err)
			}
			seen[a.Server] = true
		}
		if !seen["a"] || !seen["b"] || seen["dead"] {
			t.Errorf("served by %v", seen)
		}
	})
}

func TestServersDeclareOffersThemselves(t *testing.T) {
	yes := true
	declares := router.Tool{Name: "look", ReadOnly: &yes, Routing: router.Routing{
		Capability: "work", MaxConcurrent: 3, Attributes: map[string][]string{"language_support": {"rust"}}}}
	for _, c := range []struct {
		name    string
		trusted bool
		offers  []router.Offer
		effect  state.Effect // "" for no offer
	}{
		{"untrusted hints say nothing", false, nil, state.Unsafe},
		{"trusted hints count", true, nil, state.Safe},
		{"the operator's file stands above", true, []router.Offer{{Capability: "else", Tool: "look"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, k *script) {
				s.Offers, s.Trusted, k.tools = c.offers, c.trusted, []router.Tool{declares}
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				call := work
				call.Need = map[string]any{"language": "rust"}
				ctx, j := task{person: &person{}}.context(t)
				_, err := r.Do(ctx, call)
				if (err == nil) != (c.effect != "") {
					t.Fatalf("%v", err)
				}
				if err == nil && j.Known()[0].Effect != c.effect {
					t.Errorf("effect %s, want %s", j.Known()[0].Effect, c.effect)
				}
			})
		})
	}
}

func TestTheHerdIsSpread(t *testing.T) {
	f := newFleet()
	for id, weight := range map[string]float64{"a": 0.92, "b": 0.85, "c": 0.78} {
		f.add(id, func(s *router.Server, _ *script) { s.Weight = weight })
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		counts := map[string]float64{}
		for range 3000 {
			d, err := r.Route(t.Context(), work)
			if err != nil {
				t.Fatal(err)
			}
			if router.ReplayPick(d) != d.Picked {
				t.Fatalf("decision %+v replays as %s", d, router.ReplayPick(d))
			}
			counts[d.Picked]++
		}
		for id, want := range map[string]float64{"a": 0.3608, "b": 0.3333, "c": 0.3059} {
			if got := counts[id] / 3000; math.Abs(got-want) > 0.03 {
				t.Errorf("%s got %.3f, want about %.3f by registry weight", id, got, want)
			}
		}
	})
}

func TestServersAreListedWithTheirHealthOrTheirError(t *testing.T) {
	f := newFleet().add("b", nil).add("a", nil).add("dead", func(_ *router.Server, k *script) {
		k.describe = func(context.Context) (*router.Description, error) { return nil, errors.New("connection refused") }
	})
	slices.SortFunc(f.snapshot.Servers, func(x, y *router.Server) int { return strings.Compare(x.ID, y.ID) })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(t.Context(), work); err != nil {
			t.Fatal(err)
		}
		all := r.Servers(t.Context())
		if len(all) != 3 || all[0].Server.ID != "a" || all[2].Err == nil || all[0].Err != nil {
			t.Fatalf("%+v", all)
		}
		if h := all[0].Health[0]; h.Capability != "work" || h.Score <= 0 || h.Terms.Of("success") != 1 || len(all[0].Offers) != 1 {
			t.Errorf("%+v", h)
		}
	})
}

// heaviest is a policy of the user's own.
type heaviest struct{}

func (heaviest) Name() string { return "heaviest" }
func (heaviest) Pick(weights []float64, _ uint64) (int, float64) {
	return slices.Index(weights, slices.Max(weights)), 0
}

func TestChoiceAndScoreCanBeReplaced(t *testing.T) {
	f := newFleet().add("a", nil).add("b", func(s *router.Server, _ *script) { s.Weight = 2 })
	inBubble(t, f, router.Options{Picker: heaviest{}, Score: health.Linear{}, Transform: router.Excess(0)}, func(t *testing.T, r *router.Router) {
		for range 10 {
			d, err := r.Route(t.Context(), work)
			if err != nil || d.Picked != "b" || d.Policy != "heaviest" || d.Score != "linear" || d.Transform != "excess" {
				t.Fatalf("%+v, %v", d, err)
			}
			if c := d.Candidates[0]; c.Health < 0.999 || c.Terms.Of("errors") != 0.4 {
				t.Errorf("a server of which nothing is known scores %v from %v", c.Health, c.Terms)
			}
		}
	})
}
