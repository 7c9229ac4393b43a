package health

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTermsAreAnObjectInJSON(t *testing.T) {
	terms := Terms{{"load", 0.5}, {"answers", 1}}
	raw, err := json.Marshal(terms)
	if err != nil || string(raw) != `{"answers":1,"load":0.5}` {
		t.Fatalf("%s, %v", raw, err)
	}
	var back Terms
	if err := json.Unmarshal(raw, &back); err != nil || !cmp.Equal(back, terms.Sorted()) {
		t.Errorf("%v, %v", back, err)
	}
	if back.Of("load") != 0.5 || back.Of("drift") != 0 {
		t.Errorf("load %v, drift %v", back.Of("load"), back.Of("drift"))
	}
	if err := json.Unmarshal([]byte(`{"load":"much"}`), &back); err == nil {
		t.Error("text was taken for a number")
	}
}

func TestATermThatIsNoNumberIsLeftOut(t *testing.T) {
	got := TermsOf(Linear{}, []float64{0.4, 0.3, 0.2, 0.1, math.NaN()})
	if want := (Terms{{"capacity", 0.2}, {"errors", 0.4}, {"latency", 0.3}, {"uptime", 0.1}}); !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
