package statetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"junction/state"
)

func rawItems(name string, values ...string) map[string][]json.RawMessage {
	return map[string][]json.RawMessage{name: items(values...)}
}

func channels(t *testing.T, s state.Store) {
	t.Run("channels that a commit does not name keep value and place", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Set = rawMap("other", `{"deep":[1,2.50,9007199254740993]}`)
		commit(t, s, c)
		c = step(l, 2)
		c.Append = rawItems("log", `2`)
		cp := commit(t, s, c)
		equal(t, "references", cp.Channels, map[string]state.ChannelRef{
			"name": {Set: 1}, "other": {Set: 2}, "log": {Set: 1, Log: true, Len: 2},
		})
		snap := load(t, s, th.ID, 0)
		equal(t, "values", snap.Values, rawMap("name", `"first"`, "other", `{"deep":[1,2.50,9007199254740993]}`))
		equal(t, "log", snap.Logs["log"], items(`1`, `2`))
	})
	t.Run("setting an append channel begins a new generation", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Set = rawMap("log", `["x","y"]`)
		commit(t, s, c)
		c = step(l, 2)
		c.Append = rawItems("log", `"z"`)
		cp := commit(t, s, c)
		equal(t, "reference", cp.Channels["log"], state.ChannelRef{Set: 2, Log: true, Len: 3})
		for seq, want := range [][]json.RawMessage{1: items(`1`), 2: items(`"x"`, `"y"`), 3: items(`"x"`, `"y"`, `"z"`)} {
			if seq > 0 {
				equal(t, fmt.Sprint("log at ", seq), load(t, s, th.ID, int64(seq)).Logs["log"], want)
			}
		}
	})
	t.Run("set and append at once begin a generation and add to it", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Set, c.Append = rawMap("log", `["x"]`), rawItems("log", `"y"`)
		commit(t, s, c)
		equal(t, "log", load(t, s, th.ID, 0).Logs["log"], items(`"x"`, `"y"`))
	})
	t.Run("an append channel can be empty, and emptied", func(t *testing.T) {
		th, err := s.CreateThread(t.Context(), state.NewThread{ID: newID(), Append: rawItems("log")})
		must(t, err)
		l := acquire(t, s, th.ID)
		snap := load(t, s, th.ID, 0)
		equal(t, "reference", snap.Channels["log"], state.ChannelRef{Set: 1, Log: true})
		if got, ok := snap.Logs["log"]; !ok || got == nil || len(got) != 0 {
			t.Errorf("log is %v, %t", got, ok)
		}
		c := step(l, 1)
		c.Append = rawItems("log", `1`)
		commit(t, s, c)
		c = step(l, 2)
		c.Set = rawMap("log", `[]`)
		commit(t, s, c)
		c = step(l, 3)
		c.Append = rawItems("log", `2`)
		commit(t, s, c)
		equal(t, "emptied", load(t, s, th.ID, 3).Logs["log"], items())
		equal(t, "filled again", load(t, s, th.ID, 4).Logs["log"], items(`2`))
	})
	t.Run("appending to a last value is refused and changes nothing", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Append = rawItems("name", `1`)
		if _, err := s.Commit(t.Context(), c); err == nil {
			t.Fatal("appended to a last value")
		}
		equal(t, "head", thread(t, s, th.ID).Head, int64(1))
	})
	t.Run("a log of many commits is whole and in order", func(t *testing.T) {
		th, l := running(t, s)
		want := items(`1`)
		for parent := int64(1); parent <= 60; parent++ {
			c := step(l, parent)
			if parent%3 != 0 {
				c.Append = rawItems("log", fmt.Sprint(parent*10), fmt.Sprint(parent*10+1))
				want = append(want, c.Append["log"]...)
			}
			commit(t, s, c)
		}
		equal(t, "log", load(t, s, th.ID, 0).Logs["log"], want)
		equal(t, "log at 3", load(t, s, th.ID, 3).Logs["log"], want[:5])
	})
	t.Run("JSON comes back byte for byte", func(t *testing.T) {
		values := rawMap("html", `"<a href=\"x\">&amp;</a>"`, "space", `{ "a" : [ 1 , 2 ] }`, "null", `null`, "unicode", "\"\u2028 \\u2028 é 😀\"", "number", `1e2`, "big", `18446744073709551616`, "", `0`)
		th, err := s.CreateThread(t.Context(), state.NewThread{ID: newID(), Set: values, Append: map[string][]json.RawMessage{"items": items(`"<&>"`, `null`, `{ }`)}})
		must(t, err)
		snap := load(t, s, th.ID, 0)
		equal(t, "values", snap.Values, values)
		equal(t, "items", snap.Logs["items"], items(`"<&>"`, `null`, `{ }`))
	})
}
