package hostiletest_test

import (
	"testing"
	"time"

	"junction/router/mcp/hostiletest"
	"junction/state"
)

func TestAnUnsafeCallDroppedAfterTheToolRanIsSettledByItsVerifyTool(t *testing.T) {
	t.Parallel()
	eachDrop(t, func(t *testing.T, w way, f hostiletest.Fault) {
		s := newShop(t, w, offer{effect: state.Unsafe, verify: true}, &hostiletest.Server{ID: "first", Fault: f}, &hostiletest.Server{ID: "second"})
		s.done(t, s.run(t), "first")
		s.calls(t, "first", 1)
		s.calls(t, "second", 0)
		if s.world.Verified("first") == 0 || s.world.Verified("second") != 0 {
			t.Errorf("asked what happened: %d times where it did, %d elsewhere", s.world.Verified("first"), s.world.Verified("second"))
		}
	})
}

func TestAnUnsafeCallLostBeforeTheToolRanIsMadeAgainOnItsVerifyToolsWord(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, w, offer{effect: state.Unsafe, verify: true, max: 4 * time.Second}, &hostiletest.Server{ID: "only", Fault: hostiletest.LostRequest, Times: 1})
			s.done(t, s.run(t), "only")
			s.calls(t, "only", 2)
			if s.world.Verified("only") == 0 {
				t.Error("nobody asked what happened")
			}
		})
	}
}

func TestAnUnsafeCallWhoseVerifyToolFailsPausesTheThread(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, w, offer{effect: state.Unsafe, verify: true}, &hostiletest.Server{ID: "first", Fault: hostiletest.Dropped, Blind: true}, &hostiletest.Server{ID: "second"})
			res := s.run(t)
			if res.Status != state.StatusInterrupted || len(res.Interrupts) != 1 {
				t.Fatalf("the thread is %s with %d questions: %v", res.Status, len(res.Interrupts), res.Err)
			}
			s.effects(t, 1)
			s.calls(t, "first", 1)
			s.calls(t, "second", 0)
			if s.world.Verified("first") == 0 {
				t.Error("its verify tool was not asked")
			}
		})
	}
}
