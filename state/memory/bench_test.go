package memory_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"junction/state"
	"junction/state/memory"
)

// BenchmarkCommit is one superstep: a last value set, an item of 1 KiB added,
// one task planned.
func BenchmarkCommit(b *testing.B) {
	s := memory.New(nil)
	if _, err := s.CreateThread(b.Context(), state.NewThread{ID: "t", Set: map[string]json.RawMessage{"n": json.RawMessage(`0`)}, Append: map[string][]json.RawMessage{"log": nil}}); err != nil {
		b.Fatal(err)
	}
	l, err := s.Acquire(b.Context(), "t", "bench", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	item, _ := json.Marshal(string(make([]byte, 170))) // \u0000 ×170: 1 KiB
	b.ReportAllocs()
	parent := int64(1)
	for b.Loop() {
		c, err := s.Commit(b.Context(), state.Commit{
			Lease: l, Parent: parent, WriteID: strconv.FormatInt(parent, 10), Step: int(parent), Status: state.StatusRunning,
			Set: map[string]json.RawMessage{"n": json.RawMessage(`1`)}, Append: map[string][]json.RawMessage{"log": {item}},
			Next: []state.Task{{ID: "0123456789abcdef0123456789abcdef", Node: "work", From: []string{"work"}}},
		})
		if err != nil {
			b.Fatal(err)
		}
		parent = c.Seq
	}
}
