package hostiletest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"junction/router/mcp/hostiletest"
	"junction/state"
)

// misfortunes are faults that are over at once, so that many of them can follow
// one another: refusals, losses before and after the effect, and answers that
// cannot be taken. None is a call that goes well.
func misfortunes(w way) []hostiletest.Fault {
	all := []hostiletest.Fault{
		hostiletest.None, hostiletest.Dropped, hostiletest.Killed, hostiletest.LostRequest, hostiletest.HalfThenEnd, hostiletest.Half,
		hostiletest.NoMessage, hostiletest.ErrorCode, hostiletest.UnknownType, hostiletest.AnotherEra, hostiletest.Twice, hostiletest.Nested,
	}
	if w.http {
		return append(all, hostiletest.TooMany, hostiletest.Unauthorized, hostiletest.Redirects, hostiletest.Unavailable,
			hostiletest.BadGateway, hostiletest.WrongID, hostiletest.EndsWithoutAnswer)
	}
	return append(all, hostiletest.ClosesOutput, hostiletest.Mumbles)
}

func drawn(random *rand.Rand, w way) []hostiletest.Fault {
	all := misfortunes(w)
	faults := make([]hostiletest.Fault, 1+random.IntN(4))
	for i := range faults {
		faults[i] = all[random.IntN(len(all))]
	}
	return faults
}

// Whatever two servers do wrong one after another: a mutation takes effect once at
// most, at one ledger, and the thread ends with the receipt of what took effect or
// says that it does not know.
func TestNoSequenceOfMisfortunesMakesAMutationHappenTwice(t *testing.T) {
	t.Parallel()
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for _, w := range ways {
		for _, o := range []offer{{effect: state.Conditional}, {effect: state.Conditional, ledger: "billing"}, {effect: state.Unsafe}} {
			for seed := range seeds {
				t.Run(fmt.Sprintf("%s, %s %s, %d", w.name, o.effect, o.ledger, seed), func(t *testing.T) {
					t.Parallel()
					misfortune(t, w, o, rand.New(rand.NewPCG(seed, 7)))
				})
			}
		}
	}
}

func misfortune(t *testing.T, w way, o offer, random *rand.Rand) {
	afar := newElsewhere(t)
	first := &hostiletest.Server{ID: "first", Faults: drawn(random, w), Elsewhere: afar.url}
	second := &hostiletest.Server{ID: "second", Faults: drawn(random, w), Elsewhere: afar.url}
	o.max = 2 * time.Second
	s := newShop(t, w, o, first, second)
	res := s.run(t)
	for n := 0; res.Status != state.StatusCompleted && n < 6; n++ {
		if len(res.Interrupts) == 0 { // it failed, and is started again as a person would
			res = s.resume(t, nil)
			continue
		}
		word, decided := s.word(t, res.Interrupts[0])
		if !decided {
			break // the first call may still be under way: the person waits
		}
		res = s.answer(t, res.Interrupts[0], word)
	}
	told := func() string {
		return fmt.Sprintf("first %q, second %q; called %d and %d times", first.Faults, second.Faults, s.world.Calls("first"), s.world.Calls("second"))
	}
	effects := s.world.Effects()
	if effects > 1 {
		t.Fatalf("it took effect %d times: %s", effects, told())
	}
	if res.Status == state.StatusCompleted {
		if got, _ := res.State["receipt"].(map[string]any); effects != 1 || got["receipt"] != int64(1) {
			t.Errorf("the thread knows %v of %d effects: %s", got, effects, told())
		}
	}
	if afar.arrived.Load() != 0 {
		t.Error("another host was asked")
	}
}

// word is what a person says who looks at the world: that it happened, with its
// receipt; where it did not, that cannot be said before the maximum has passed.
func (s *shop) word(t *testing.T, i state.Interrupt) (answer string, decided bool) {
	t.Helper()
	var evidence struct{ Server string }
	if err := json.Unmarshal(i.Value, &evidence); err != nil {
		t.Fatal(err)
	}
	if s.world.Effects() == 0 {
		return "", false
	}
	return fmt.Sprintf(`{"choice":"happened","result":{"receipt":1,"by":%q}}`, evidence.Server), true
}
