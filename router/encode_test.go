package router

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"junction/health"
)

func TestARecordedDecisionIsWhatEncodingJSONWritesAndReads(t *testing.T) {
	float := rapid.OneOf(
		rapid.Float64Range(0, 1e9), rapid.Float64(), rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 0.1, 1e-6, 9.9e-7, 1e-9, 1e-10, 1e15, 1e15 - 1, 1e20, 1e21, 1.5e300, 5e-324}))
	word := rapid.OneOf(rapid.StringMatching(`[a-z/.-]{0,9}`), rapid.String(), rapid.SampledFrom([]string{"<a&b>", "\x7f\u2028\x00", `"\`, "a\tb…"}))
	rapid.Check(t, func(t *rapid.T) {
		d := Decision{
			Capability: word.Draw(t, "capability"), Policy: "weighted-random", Transform: "plain", Score: word.Draw(t, "score"),
			Seed: rapid.Uint64().Draw(t, "seed"), Draw: float.Draw(t, "draw"), Picked: word.Draw(t, "picked"),
			Tool: word.Draw(t, "tool"), Candidates: []Candidate{}, Omitted: rapid.IntRange(0, 3).Draw(t, "omitted"),
			Stale: rapid.Bool().Draw(t, "stale"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "candidates") {
			d.Candidates = append(d.Candidates, Candidate{
				Server: word.Draw(t, "server"), Tool: word.Draw(t, "its tool"), Match: float.Draw(t, "match"),
				Health: float.Draw(t, "health"), Weight: float.Draw(t, "weight"),
				Terms: health.Terms{},
			})
			if last := &d.Candidates[len(d.Candidates)-1]; rapid.Bool().Draw(t, "weighs its health") {
				last.Weight = last.Health
			}
			for name, value := range rapid.MapOf(word, float).Draw(t, "terms") {
				terms := &d.Candidates[len(d.Candidates)-1].Terms
				*terms = append(*terms, health.Term{Name: name, Value: value})
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "rejected") {
			d.Rejected = append(d.Rejected, Rejection{word.Draw(t, "who"), word.Draw(t, "reason"), word.Draw(t, "detail")})
		}
		if rapid.Bool().Draw(t, "counted") {
			d.Reasons = map[string]int{word.Draw(t, "counted reason"): 3}
		}
		raw, err := encodeDecision(d)
		if err != nil {
			t.Fatal(err)
		}
		var back Decision
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if theirs, err := json.Marshal(d); err != nil || string(theirs) != string(raw) {
			t.Fatalf("%s\nencoding/json writes %s, %v", raw, theirs, err)
		}
		for i := range d.Candidates {
			d.Candidates[i].Terms = d.Candidates[i].Terms.Sorted()
		}
		if !reflect.DeepEqual(back, d) {
			t.Fatalf("%s\nreads back as %+v\nwas %+v", raw, back, d)
		}
	})
}

func TestADecisionThatIsNoNumberIsAnError(t *testing.T) {
	if raw, err := encodeDecision(Decision{Draw: math.NaN()}); err == nil {
		t.Errorf("recorded %s", raw)
	}
}

func TestTextThatIsNotUTF8IsRecordedAsFarAsItCanBe(t *testing.T) {
	raw, err := encodeDecision(Decision{Rejected: []Rejection{{Server: "a", Reason: "unreachable", Detail: "bad \xff byte"}}})
	var back Decision
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil || back.Rejected[0].Detail != "bad \ufffd byte" {
		t.Errorf("%s, %v", raw, err)
	}
}
