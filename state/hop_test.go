package state_test

import (
	"errors"
	"strings"
	"testing"

	"junction/state"
)

func TestHopsWithoutNameAreNumberedAndRunOneAfterAnother(t *testing.T) {
	j := newJournaled(t)
	first := begin(t, j.Journal, "")
	if first.ID() != state.HopID(scope, "1") {
		t.Error("the first hop is not number 1")
	}
	_, err := j.Begin("", "args")
	var open *state.OpenHopError
	if !errors.As(err, &open) || open.Open != "1" || !strings.Contains(err.Error(), "router.Key") {
		t.Fatalf("error is %v", err)
	}
	first.Close()
	second := begin(t, j.Journal, "")
	if second.ID() != state.HopID(scope, "2") {
		t.Error("a refused hop took a number")
	}
	first.Close() // again: must not close the second
	if _, err := j.Begin("", "args"); !errors.As(err, &open) {
		t.Errorf("error is %v, want the second hop to be open", err)
	}
}

func TestNamedHopsMayRunAtOnceButUseANameOnce(t *testing.T) {
	j := newJournaled(t)
	numbered, a, b := begin(t, j.Journal, ""), begin(t, j.Journal, "a"), begin(t, j.Journal, "1")
	if numbered.ID() == b.ID() || a.ID() == b.ID() {
		t.Error("hops of different names share an identity")
	}
	a.Close()
	_, err := j.Begin("a", "args")
	var open *state.OpenHopError
	if !errors.As(err, &open) || !strings.Contains(err.Error(), "used twice") {
		t.Errorf("error is %v", err)
	}
}

func TestHopIdentityDependsOnEachPartOfItsScope(t *testing.T) {
	base := state.HopID(scope, "1")
	for name, change := range map[string]func(*state.Scope){
		"thread":  func(s *state.Scope) { s.Thread = "t2" },
		"lineage": func(s *state.Scope) { s.Lineage = "fork" },
		"seq":     func(s *state.Scope) { s.Seq = 2 },
		"task":    func(s *state.Scope) { s.Task = "other" },
		"borders": func(s *state.Scope) { s.Thread, s.Lineage = "tl", "" },
	} {
		s := scope
		if change(&s); state.HopID(s, "1") == base {
			t.Errorf("%s does not change the identity", name)
		}
	}
	s := scope
	s.Step, s.Node = 9, "renamed"
	if state.HopID(s, "1") != base {
		t.Error("step or node change the identity")
	}
}
