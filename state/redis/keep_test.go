package redis

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/state"
)

// TestKeep runs the same supersteps on a store that keeps all checkpoints and on
// one that keeps five: what both have is the same, and the one that trims holds
// no more than its checkpoints need.
func TestKeep(t *testing.T) {
	t.Parallel()
	const keep, steps = 5, 60
	all, few := create(t, open(t, Options{})), create(t, open(t, Options{Keep: keep}))
	for i := 1; i <= steps; i++ {
		for _, th := range []*thread{all, few} {
			th.commit(func(c *state.Commit) { c.Set, c.Append = supersteps(i) })
		}
		equal(t, "head", all.head, few.head)
		for seq := max(1, few.head-keep+1); seq <= few.head; seq++ {
			want, got := all.load(seq), few.load(seq)
			if d := cmp.Diff(want.Values, got.Values); d != "" {
				t.Fatalf("values of checkpoint %d after %d steps (−all +few):\n%s", seq, i, d)
			}
			if d := cmp.Diff(want.Logs, got.Logs); d != "" {
				t.Fatalf("logs of checkpoint %d after %d steps (−all +few):\n%s", seq, i, d)
			}
		}
	}
	cps, err := few.s.Checkpoints(t.Context(), few.id, 0, 0)
	must(t, err)
	var seqs []int64
	for _, cp := range cps {
		seqs = append(seqs, cp.Seq)
	}
	equal(t, "checkpoints", seqs, []int64{61, 60, 59, 58, 57})
	for _, seq := range []int64{1, few.head - keep} {
		_, err = few.s.Load(t.Context(), few.id, seq)
		wantErr(t, err, state.ErrNotFound)
	}
	cps, err = few.s.Checkpoints(t.Context(), few.id, few.head-keep+1, 0)
	must(t, err)
	equal(t, "older checkpoints", len(cps), 0)

	c := few.s.client
	equal(t, "heads", c.LLen(t.Context(), few.key(keyHeads)).Val(), int64(keep))
	// The oldest generation that a kept checkpoint refers to began at 51.
	equal(t, "logs", c.LLen(t.Context(), few.key(keyLogs)).Val(), int64(61-51+1))
	// Set at 57 to 61, at 54 and 56 (n), at 1 (first).
	if n := c.HLen(t.Context(), few.key(keyValues)).Val(); n > keep+3 {
		t.Errorf("%d frames of values for %d checkpoints: %v", n, keep, c.HKeys(t.Context(), few.key(keyValues)).Val())
	}
}

// supersteps sets one value early and never again, another now and then, and one
// each time; a log grows and is set anew every ten steps.
func supersteps(i int) (map[string]jsonText, map[string][]jsonText) {
	set, app := map[string]jsonText{"each": raw(fmt.Sprint(i))}, map[string][]jsonText{}
	if i == 1 {
		set["early"] = raw(`"kept"`)
	}
	if i%7 == 0 {
		set["now and then, \"quoted\""] = raw(fmt.Sprint(i))
	}
	if i%10 == 0 {
		set["log"] = raw(`["new"]`)
	} else if i%3 != 0 {
		app["log"] = []jsonText{raw(fmt.Sprint(i)), raw(fmt.Sprint(-i))}
	}
	return set, app
}

func TestKeepOfAThreadThatKeptMoreTakesAFewAtATime(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	for range 40 {
		th.commit()
	}
	s.o.Keep = 3
	th.commit()
	first := s.client.LLen(t.Context(), th.key(keyHeads)).Val()
	if first <= 3 || first >= 42 {
		t.Errorf("%d checkpoints after the first commit: not a few were trimmed", first)
	}
	for range 4 {
		th.commit()
	}
	equal(t, "checkpoints", s.client.LLen(t.Context(), th.key(keyHeads)).Val(), int64(3))
	equal(t, "log", len(th.load(0).Logs["log"]), 46)
	equal(t, "value", string(th.load(th.head - 2).Values["n"]), fmt.Sprint(th.head-3))
}
