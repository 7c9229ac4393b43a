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
	"unicode"

	"junction/router"
	"junction/state"
)

// hung never ends its handshake.
func hung(_ *router.Server, k *script) {
	k.describe = func(ctx context.Context) (*router.Description, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// A registry takes registrations from many, and one of them may bring a server
// that hangs again and again.
func TestAHungServerThatIsRegisteredAnewAllTheTimeSlowsNoCallToOthers(t *testing.T) {
	for name, id := range map[string]func(n int) string{
		"under the same id": func(int) string { return "hung" },
		"under another id":  func(n int) string { return fmt.Sprintf("hung-%d", n) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet().add("well", nil)
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				const hops = 400
				waited := time.Duration(0)
				for n := range hops {
					f.drop(func(s *router.Server) bool { return s.ID != "well" })
					f.add(id(n), hung)
					begun := time.Now()
					if a, err := r.Do(t.Context(), work); err != nil || a.Server != "well" {
						t.Fatalf("%+v, %v", a, err)
					}
					waited += time.Since(begun)
					<-time.After(100 * time.Millisecond)
				}
				if most := 4 * time.Second; waited > most {
					t.Errorf("%d hops in %v waited %v for servers that hang, want at most %v", hops, hops*100*time.Millisecond, waited, most)
				}
			})
		})
	}
}

// A server that was described once is used as it was known while it makes the
// next description wait.
func TestAServerThatIsSlowToSayTheSameAgainSlowsNoCallToOthers(t *testing.T) {
	f := newFleet().add("well", nil).add("slow", func(_ *router.Server, k *script) {
		n := 0
		k.describe = func(ctx context.Context) (*router.Description, error) {
			if n++; n == 1 {
				return &router.Description{Tools: k.tools}, nil
			}
			select {
			case <-time.After(900 * time.Millisecond):
			case <-ctx.Done():
			}
			return &router.Description{Tools: k.tools}, nil
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		for range 20 {
			begun := time.Now()
			if _, err := r.Do(t.Context(), work); err != nil || time.Since(begun) > 0 {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			<-time.After(500 * time.Millisecond)
		}
	})
}

// What a server claims stands in the record of every hop that passes it over.
func TestClaimsOfAnyLengthLeaveRecordsShort(t *testing.T) {
	long := strings.Repeat("\x1b[31m", 1<<18)
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("%s%d", long[:100], i)
	}
	f := newFleet().add("well", func(s *router.Server, _ *script) {
		s.Offers[0].Attributes = map[string][]string{"language": {"go"}}
	})
	claim := func(routing router.Routing) func(*router.Server, *script) {
		return func(s *router.Server, k *script) {
			s.Offers = nil
			k.tools = []router.Tool{{Name: "x", Routing: routing}}
		}
	}
	f.add("capability", claim(router.Routing{Capability: long}))
	f.add("attribute", claim(router.Routing{Capability: "work", Attributes: map[string][]string{"language": {long}}}))
	f.add("attributes", claim(router.Routing{Capability: "work", Attributes: map[string][]string{"language": many}}))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		d, err := r.Route(t.Context(), state.Call{Capability: "work", Need: map[string]any{"language": "go"}})
		if err != nil || len(d.Rejected) != 3 {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, r := range d.Rejected {
			if len(r.Detail) > 3000 || strings.ContainsFunc(r.Detail, unicode.IsControl) {
				t.Errorf("%s: a detail of %d bytes: %.80q", r.Server, len(r.Detail), r.Detail)
			}
		}
	})
}

// The id of an instance is chosen by whoever registers it.
func TestAnIDOfARegistryIsNoLedgersName(t *testing.T) {
	yes := true
	f := newFleet().add("genuine", func(s *router.Server, k *script) {
		s.Offers = []router.Offer{{Capability: "work", Tool: "do", Effect: state.Conditional, Key: "_meta.key", Ledger: router.Ledger{Name: "billing"}}}
		k.answer = fails(router.CallError{Code: router.Transport, Execution: state.Unknown})
	})
	f.add("billing", func(s *router.Server, k *script) {
		s.Source, s.Trusted, s.Offers = "consul", true, []router.Offer{{Capability: "work", Tool: "do"}}
		k.tools = []router.Tool{{Name: "do", Idempotent: &yes}}
	})
	inBubble(t, f, router.Options{Max: 2 * time.Second}, func(t *testing.T, r *router.Router) {
		for range 20 {
			before := len(f.servers())
			_, err := r.Do(t.Context(), work)
			went := f.servers()[before:]
			if went[0] == "genuine" && (err == nil || slices.Contains(went, "billing")) {
				t.Fatalf("a hop that may have executed under ledger billing went on to a server of that id: %v", went)
			}
		}
	})
}

// forgetful notes who is forgotten.
type forgetful struct {
	*fleet
	mu   sync.Mutex
	gone []string
}

func (f *forgetful) Forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = append(f.gone, id)
}

func TestConnectionsToServersThatLeftAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &forgetful{fleet: newFleet().add("stays", nil).add("goes", nil)}
		r := router.New(f, f, &router.Options{Seed: 1})
		defer r.Close()
		hop := func() {
			if _, err := r.Do(t.Context(), work); err != nil {
				t.Error(err)
			}
		}
		hop()
		f.drop(func(s *router.Server) bool { return s.ID == "goes" })
		hop()
		hop()
		if !slices.Equal(f.gone, []string{"goes"}) {
			t.Errorf("forgotten: %v", f.gone)
		}
	})
}

func TestAThreadStaysWithNobodyWhoOnlyHasTheIDOfItsServer(t *testing.T) {
	for name, endpoint := range map[string]string{"at its address": "http://10.0.0.1/mcp", "at another": "http://10.6.6.6/mcp"} {
		t.Run(name, func(t *testing.T) {
			at := "http://10.0.0.1/mcp"
			found := func(s *router.Server, k *script) {
				s.Source, s.Dial.URL = "consul", at
				k.describe = func(context.Context) (*router.Description, error) {
					return &router.Description{Tools: k.tools, Modern: true, Session: state.Session{ID: "of " + at, Server: s.ID, Endpoint: s.Endpoint()}}, nil
				}
			}
			book := &threadBook{}
			f := newFleet().add("pay", found)
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				if _, err := r.Do(book.run(t, "1"), ofThread); err != nil {
					t.Fatal(err)
				}
				at = endpoint
				f.drop(func(*router.Server) bool { return true })
				f.add("pay", found)
				_, err := r.Do(book.run(t, "2"), ofThread)
				if _, lost := errors.AsType[*router.SessionLostError](err); lost != (endpoint != "http://10.0.0.1/mcp") {
					t.Errorf("the thread's next hop: %v", err)
				}
			})
		})
	}
}

// A registration changes with every check that fails and passes.
func TestAChangedRegistrationLosesNoThreadsSession(t *testing.T) {
	var connection atomic.Int64
	f, book := newFleet().add("well", nil), &threadBook{}
	slow := func(s *router.Server, k *script) {
		numbered(&connection, false)(s, k)
		said := k.describe
		k.describe = func(ctx context.Context) (*router.Description, error) {
			<-time.After(300 * time.Millisecond)
			return said(ctx)
		}
	}
	f.add("bound", slow)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		c := state.Call{Capability: "work", Session: "thread", Need: map[string]any{"only": "bound"}}
		rereg := func(weight float64) {
			f.drop(func(s *router.Server) bool { return s.ID == "bound" })
			f.add("bound", func(s *router.Server, k *script) {
				slow(s, k)
				s.Weight, s.Offers[0].Attributes = weight, map[string][]string{"only": {"bound"}}
			})
		}
		rereg(1)
		if _, err := r.Do(book.run(t, "1"), c); err != nil {
			t.Fatal(err)
		}
		c.Need = nil
		for n := range 20 {
			rereg(float64(2 + n))
			a, err := r.Do(book.run(t, fmt.Sprint("later ", n)), c)
			if err != nil || a.Server != "bound" {
				t.Fatalf("hop %d after a change of weight: %q, %v", n, a.Server, err)
			}
			<-time.After(2 * time.Second)
		}
	})
}
