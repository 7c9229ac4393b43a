package redis

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// TestHistoriesOfAStoreThatBreaksItsWord shows that the model refuses them. Each
// operation takes 1 ms, one after another, unless after says how long later.
func TestHistoriesOfAStoreThatBreaksItsWord(t *testing.T) {
	t.Parallel()
	const ttl = 100 * time.Millisecond
	type op struct {
		call
		after time.Duration
	}
	did := func(r request, a answer) op { return op{call: call{request: r, answer: &a}} }
	take := func(id string, token int64) op {
		return did(request{Op: opAcquire, ID: id, Owner: id, TTL: ttl}, answer{End: endOK, Token: token})
	}
	busy := func(id, owner string, left time.Duration) op {
		return did(request{Op: opAcquire, ID: id, Owner: id, TTL: ttl}, answer{End: endBusy, Owner: owner, Remaining: left})
	}
	put := func(token int64, end, status, mark string) op {
		e := entered{Seq: 1, Hop: "h", Attempt: 1, Status: status, Final: status == "success", Mark: mark}
		return did(request{Op: opRecords, Token: token, Records: []entered{e}}, answer{End: end})
	}
	list := func(status, mark string) op {
		return did(request{Op: opList}, answer{End: endOK, Records: []entered{{1, "h", 1, status, status == "success", mark, ""}}})
	}
	commit := func(token int64, id string, parent int64, end string, head int64) op {
		return did(request{Op: opCommit, ID: id, Token: token, Parent: parent}, answer{End: end, Head: head})
	}
	lapsed := func(o op) op { o.after = 2 * ttl; return o }
	retried := func(o op) op { o.lost = 1; return o }
	release := did(request{Op: opRelease, Token: 1}, answer{End: endOK})
	for name, c := range map[string]struct {
		want porcupine.CheckResult
		ops  []op
	}{
		"one holder after another":       {porcupine.Ok, []op{take("a", 1), busy("b", "a", 98*time.Millisecond), release, take("b", 2)}},
		"two holders at once":            {porcupine.Illegal, []op{take("a", 1), take("b", 2)}},
		"a lease that ran out":           {porcupine.Ok, []op{take("a", 1), lapsed(take("b", 2)), put(1, endLost, "open", "x")}},
		"a lease that ran out is alive":  {porcupine.Illegal, []op{take("a", 1), lapsed(busy("b", "a", time.Millisecond))}},
		"a lease too long":               {porcupine.Illegal, []op{take("a", 1), busy("b", "a", 2*ttl)}},
		"a token that falls":             {porcupine.Illegal, []op{take("a", 2), lapsed(take("b", 1))}},
		"a write under a lease lost":     {porcupine.Illegal, []op{take("a", 1), lapsed(take("b", 2)), put(1, endOK, "open", "x")}},
		"a write under one that ran out": {porcupine.Illegal, []op{take("a", 1), lapsed(put(1, endOK, "open", "x"))}},
		"a write after a release":        {porcupine.Illegal, []op{take("a", 1), release, put(1, endOK, "open", "x")}},
		"a lease lost for no reason":     {porcupine.Illegal, []op{take("a", 1), put(1, endLost, "open", "x")}},
		"an acquisition in its own way":  {porcupine.Illegal, []op{retried(busy("a", "a", 99*time.Millisecond))}},
		"an acquisition tried again":     {porcupine.Ok, []op{retried(take("a", 1)), put(1, endOK, "open", "x")}},

		"an intent after its outcome": {porcupine.Ok, []op{take("a", 1), put(1, endOK, "error", "x"), put(1, endOK, "open", "y"), list("error", "x")}},
		"an intent over its outcome":  {porcupine.Illegal, []op{take("a", 1), put(1, endOK, "error", "x"), put(1, endOK, "open", "y"), list("open", "y")}},
		"a final result replaced":     {porcupine.Illegal, []op{take("a", 1), put(1, endOK, "success", "x"), put(1, endOK, "error", "y"), list("error", "y")}},
		"a write that is not there":   {porcupine.Illegal, []op{take("a", 1), put(1, endOK, "open", "x"), put(1, endOK, "open", "y"), list("open", "x")}},
		"a refused write that is there": {porcupine.Illegal, []op{
			take("a", 1), put(1, endOK, "open", "x"), release, put(1, endLost, "error", "y"), list("error", "y")}},
		"a write whose reply was lost, then refused": {porcupine.Ok, []op{
			take("a", 1), retried(lapsed(put(1, endLost, "error", "y")))}},

		"a commit made twice is one":       {porcupine.Ok, []op{take("a", 1), commit(1, "c", 1, endOK, 2), commit(1, "c", 1, endOK, 2), commit(1, "d", 2, endOK, 3)}},
		"a commit made twice counts twice": {porcupine.Illegal, []op{take("a", 1), commit(1, "c", 1, endOK, 2), commit(1, "c", 1, endOK, 3)}},
		"a commit after another's":         {porcupine.Illegal, []op{take("a", 1), commit(1, "c", 1, endOK, 2), commit(1, "d", 1, endOK, 2)}},
		"a conflict for no reason":         {porcupine.Illegal, []op{take("a", 1), commit(1, "c", 1, endConflict, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls []call
			var now time.Duration
			for _, o := range c.ops {
				now += o.after
				o.called = now.Nanoseconds()
				now += time.Millisecond
				o.end = now.Nanoseconds()
				calls = append(calls, o.call)
				now++
			}
			if got := porcupine.CheckOperationsTimeout(threadModel, history(calls, 0), checkWithin); got != c.want {
				t.Errorf("it is %v, want %v: %v", got, c.want, calls)
			}
		})
	}
}
