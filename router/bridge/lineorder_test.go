package bridge

import (
	"testing"
	"testing/synctest"
)

func TestRequestsLeaveInOrderAndASlowOneHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := lineTo(t, &LineOptions{})
		a, b, c := ask(t, l, "a", false), ask(t, l, "b", false), ask(t, l, "c", false)
		v := s.session(1)
		v.of("c").answer <- says("c")
		c.answered(t)
		v.of("b").answer <- says("b")
		b.answered(t)
		if !a.open() {
			t.Fatal("a has an outcome before its answer")
		}
		v.of("a").answer <- says("a")
		a.answered(t)
	})
}
