package health

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
)

// Term is one part of a score.
type Term struct {
	Name  string
	Value float64
}

// Terms are what a score is made of, by name; in JSON they are an object. Decisions
// share them: they are not to be changed.
type Terms []Term

// Of returns the term of that name, 0 where there is none.
func (t Terms) Of(name string) float64 {
	for i := range t {
		if t[i].Name == name {
			return t[i].Value
		}
	}
	return 0
}

// Sorted returns the terms by name, t itself where they are.
func (t Terms) Sorted() Terms {
	byName := func(a, b Term) int { return cmp.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(t, byName) {
		return t
	}
	t = slices.Clone(t)
	slices.SortStableFunc(t, byName)
	return t
}

// MarshalJSON implements [json.Marshaler].
func (t Terms) MarshalJSON() ([]byte, error) {
	all := make(map[string]float64, len(t))
	for i := range t {
		all[t[i].Name] = t[i].Value
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Terms) UnmarshalJSON(raw []byte) error {
	var all map[string]float64
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	*t = make(Terms, 0, len(all))
	for name, value := range all {
		*t = append(*t, Term{name, value})
	}
	*t = t.Sorted()
	return nil
}

// TermsOf names the terms that [Score.Terms] gave for one member.
func TermsOf(s Score, values []float64) Terms {
	t := make(Terms, 0, len(values))
	for i, name := range s.TermNames() {
		if !math.IsNaN(values[i]) {
			t = append(t, Term{name, values[i]})
		}
	}
	return t.Sorted()
}
