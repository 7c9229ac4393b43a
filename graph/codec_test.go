package graph

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodedValuesAreExactAndHaveNoRoomBehindTheirLists(t *testing.T) {
	type leaf struct {
		Any  any            `json:"any"`
		Tags []string       `json:"tags"`
		More map[string]any `json:"more"`
		Next *leaf          `json:"next"`
	}
	text := json.RawMessage(`[{"any":1152921504606846977,"tags":["a","b","c"],"more":{"n":[1,2.5,3]},"next":{"any":[1,2,3,4,5]}}]`)
	v, err := decode(reflect.TypeFor[[]leaf](), text)
	if err != nil {
		t.Fatal(err)
	}
	want := []leaf{{
		Any: int64(1152921504606846977), Tags: []string{"a", "b", "c"}, More: map[string]any{"n": []any{int64(1), 2.5, int64(3)}},
		Next: &leaf{Any: []any{int64(1), int64(2), int64(3), int64(4), int64(5)}},
	}}
	if d := cmp.Diff(want, v); d != "" {
		t.Fatal(d)
	}
	got := v.([]leaf)
	untyped, err := decode(nil, json.RawMessage(`[1,2,3,[4,5,6]]`))
	if err != nil {
		t.Fatal(err)
	}
	outer := untyped.([]any)
	for name, room := range map[string]int{
		"list": cap(got) - len(got), "tags": cap(got[0].Tags) - 3, "any": cap(got[0].Next.Any.([]any)) - 5,
		"untyped": cap(outer) - len(outer), "nested": cap(outer[3].([]any)) - 3,
	} {
		if room != 0 {
			t.Errorf("%s: room for %d behind the end", name, room)
		}
	}
	if _, err := decode(reflect.TypeFor[[]leaf](), json.RawMessage(`[{"any":123456789012345678901234567890}]`)); err == nil {
		t.Error("a number that no int64 or float64 holds exactly was taken")
	}
}

func TestIdentitiesAreStableAndApart(t *testing.T) {
	// Written down once: a change would orphan the stored writes of every
	// thread that waits.
	if got := taskID("thread", "lineage", 7, "node", 3); got != "b0009cecfa62d7c70429542c61ff3924" {
		t.Errorf("task identity %s", got)
	}
	seen := map[string]string{}
	for name, id := range map[string]string{
		"task": taskID("t", "l", 1, "n", 0), "index": taskID("t", "l", 1, "n", 1), "seq": taskID("t", "l", 2, "n", 0),
		"lineage": taskID("t", "m", 1, "n", 0), "shifted": taskID("tl", "", 1, "n", 0),
		"before": pauseID("t", "l", 1, "n", "before"), "after": pauseID("t", "l", 1, "n", "after"),
		"first": questionID("t", "", 1), "second": questionID("t", "", 2), "named": questionID("t", "1", 0),
		"commit": writeID("t", "l", 1, 1), "other holder": writeID("t", "l", 1, 2),
	} {
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s share an identity", name, other)
		}
		seen[id] = name
	}
}
