package router_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"junction/router"
)

// deciding keeps the decisions it is told of, and nothing of servers.
type deciding struct {
	mu   sync.Mutex
	made []router.Decision
}

func (o *deciding) OnDecision(_ router.HopInfo, d router.Decision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made = append(o.made, d)
}
func (*deciding) OnAttempt(router.HopInfo, router.AttemptInfo)                     {}
func (*deciding) OnOutcome(router.HopInfo, router.AttemptInfo, router.OutcomeInfo) {}
func (*deciding) OnProgress(router.HopInfo, router.AttemptInfo, router.Progress)   {}

type aware struct {
	deciding
	drifted, held []string
}

func (o *aware) OnDrift(server string, _ bool)  { o.drifted = append(o.drifted, server) }
func (o *aware) OnHeldBack(server, tool string) { o.held = append(o.held, server+"/"+tool) }

func TestSeveralObserversAreAllTold(t *testing.T) {
	t.Parallel()
	plain, knowing := &deciding{}, &aware{}
	o := router.Observers(plain, nil, knowing)
	o.OnDecision(router.HopInfo{}, router.Decision{Picked: "a"})
	servers, ok := o.(router.ServerObserver)
	if !ok {
		t.Fatal("it is told nothing of servers")
	}
	servers.OnDrift("a", true)
	servers.OnHeldBack("a", "x")
	if len(plain.made) != 1 || len(knowing.made) != 1 || len(knowing.drifted) != 1 || len(knowing.held) != 1 {
		t.Errorf("told: %+v, %+v", plain, knowing)
	}
}

// A worker whose servers are full decides as quickly as ever: what takes the time
// is no work of the router.
func TestADecisionsTimeLeavesWaitsOut(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.MaxConcurrent = 1
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			<-time.After(2 * time.Second)
			return answers("a")(ctx, n, c)
		}
	})
	seen := &deciding{}
	inBubble(t, f, router.Options{Observer: seen}, func(t *testing.T, r *router.Router) {
		begun := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				ctx, _ := task{}.context(t)
				if _, err := r.Do(ctx, work); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if took := time.Since(begun); took != 4*time.Second {
			t.Fatalf("both calls took %s: none waited", took)
		}
	})
	for _, d := range seen.made {
		if d.Took != 0 {
			t.Errorf("a decision took %s, with the wait for a place", d.Took)
		}
	}
	if len(seen.made) != 2 {
		t.Errorf("%d decisions", len(seen.made))
	}
}
