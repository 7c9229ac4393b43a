package statetest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"junction/state"
)

func blobs(t *testing.T, s state.Store) {
	t.Run("a blob is found under its hash, in its thread", func(t *testing.T) {
		th, l := running(t, s)
		for name, data := range map[string][]byte{
			"empty": {}, "small": []byte("workflow: x"), "binary": {0, 1, 0xff},
			"compressible": bytes.Repeat([]byte("0123456789"), 100_000), "random": randomBytes(700_000),
		} {
			hash, err := s.PutBlob(t.Context(), l, data)
			must(t, err)
			equal(t, name+" hash", hash, state.Hash(data))
			again, err := s.PutBlob(t.Context(), l, data)
			must(t, err)
			equal(t, name+" again", again, hash)
			got, err := s.Blob(t.Context(), th.ID, hash)
			must(t, err)
			if !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes came back of %d", name, len(got), len(data))
			}
		}
	})
	t.Run("a thread starts with blobs", func(t *testing.T) {
		text := []byte("workflow: code-review\n")
		th, err := s.CreateThread(t.Context(), state.NewThread{ID: newID(), Definition: state.Hash(text), Blobs: [][]byte{text, text}})
		must(t, err)
		got, err := s.Blob(t.Context(), th.ID, th.Definition)
		must(t, err)
		equal(t, "definition", string(got), string(text))
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		th := create(t, s)
		_, err := s.Blob(t.Context(), th.ID, state.Hash([]byte("nothing")))
		wantErr(t, err, state.ErrNotFound)
		_, err = s.Blob(t.Context(), newID(), state.Hash(nil))
		wantErr(t, err, state.ErrNotFound)
	})
}

func randomBytes(n int) []byte {
	src := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = src.Read(data) // never fails
	return data
}

// largeValues checks that values of any size, and values that look like a
// backend's own references, come back exactly, wherever a value can stand.
func largeValues(t *testing.T, s state.Store) {
	text := func(size int, fill string) json.RawMessage {
		b, err := json.Marshal(strings.Repeat(fill, size/len(fill)))
		must(t, err)
		return b
	}
	object := func(leaf json.RawMessage) json.RawMessage {
		return bytes.Join([][]byte{[]byte(`{"code":`), leaf, []byte(`,"n":[1,`), leaf, []byte(`]}`)}, nil)
	}
	for name, v := range map[string]json.RawMessage{
		"64 KiB": object(text(64<<10, "a line of text\n")), "600 KiB": object(text(600<<10, `say "hi" \ `)),
		"2 MiB of many small leaves": []byte("[" + strings.Repeat(`"0123456789",`, 150_000) + "null]"),
		"a reference's look":         raw(`{"$blob":"` + strings.Repeat("0", 64) + `"}`),
		"an escaped look":            raw(`{"$$blob":{"$blob":1},"\u0024blob":"x","$$$blob":[]}`),
	} {
		t.Run(name, func(t *testing.T) {
			th, err := s.CreateThread(t.Context(), state.NewThread{ID: newID(), Set: map[string]json.RawMessage{"v": v}, Append: map[string][]json.RawMessage{"log": {v}}, Next: []state.Task{{ID: "t", Node: "n", Item: v}}})
			must(t, err)
			l := acquire(t, s, th.ID)
			snap := load(t, s, th.ID, 0)
			same(t, "value", snap.Values["v"], v)
			same(t, "log item", snap.Logs["log"][0], v)
			same(t, "task's item", snap.Next[0].Item, v)
			c := step(l, 1)
			c.Set, c.Append = map[string]json.RawMessage{"v": v, "log": append(append([]byte("["), v...), ']')}, map[string][]json.RawMessage{"log": {v}}
			c.Next = snap.Next
			commit(t, s, c)
			r := success(record("h-"+th.ID, 2), string(v))
			r.Decision = raw(`{"$blob":"decision"}`)
			must(t, s.PutWrites(t.Context(), l, 2, state.TaskWrites{Task: "t", Writes: []state.Write{{Channel: "v", Value: v}}, Goto: []state.Send{{Node: "n", Item: v}}}, []state.Record{r}))
			must(t, s.PutInterrupt(t.Context(), l, 2, state.Interrupt{ID: "q", Task: "t2", Value: v}, nil))
			must(t, s.Answer(t.Context(), th.ID, map[string]json.RawMessage{"q": v}))
			snap = load(t, s, th.ID, 0)
			same(t, "value of the commit", snap.Values["v"], v)
			same(t, "second log item", snap.Logs["log"][1], v)
			same(t, "task's item of the commit", snap.Next[0].Item, v)
			same(t, "write", snap.Pending["t"].Writes[0].Value, v)
			same(t, "sent item", snap.Pending["t"].Goto[0].Item, v)
			same(t, "result", snap.Records[0].Result, v)
			same(t, "decision", snap.Records[0].Decision, r.Decision)
			same(t, "question", snap.Interrupts[0].Value, v)
			same(t, "answer", snap.Interrupts[0].Answer, v)
			cps, err := s.Checkpoints(t.Context(), th.ID, 0, 0)
			must(t, err)
			same(t, "task's item in the history", cps[1].Next[0].Item, v)
		})
	}
}

func same(t *testing.T, what string, got, want json.RawMessage) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes came back of %d: %.60s", what, len(got), len(want), got)
	}
}

func sessions(t *testing.T, s state.Store) {
	th, l := running(t, s)
	opened := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := state.Session{ID: "b", Server: "srv", Endpoint: "http://x", ProtocolVersion: "2025-11-25", Scheme: "bearer", ContextHash: "sha256:00", Opened: opened, Expires: opened.Add(time.Hour)}
	a := state.Session{ID: "a", Server: "other", Opened: opened, Bound: "b"}
	must(t, s.PutSession(t.Context(), l, b))
	must(t, s.PutSession(t.Context(), l, a))
	got, err := s.Sessions(t.Context(), th.ID)
	must(t, err)
	equal(t, "sessions by id", got, []state.Session{a, b})
	b.Expires = opened.Add(2 * time.Hour)
	must(t, s.PutSession(t.Context(), l, b))
	commit(t, s, step(l, 1))
	got, err = s.Sessions(t.Context(), th.ID)
	must(t, err)
	equal(t, "after a renewal and a commit", got, []state.Session{a, b})
}
