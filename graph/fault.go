package graph

import (
	"fmt"
	"slices"
	"strings"
)

// FaultKind sorts build-time faults.
type FaultKind string

const (
	FaultName        FaultKind = "name"        // empty, reserved or used twice
	FaultUnknown     FaultKind = "unknown"     // a channel or node that does not exist
	FaultUnreachable FaultKind = "unreachable" // nothing leads to a node
	FaultNoWayOn     FaultKind = "no_way_on"   // a node without edge, route or successor of its own
	FaultJoin        FaultKind = "join"        // a join that could never run, or two that cannot be told apart
	FaultType        FaultKind = "type"        // a type that cannot fit
	FaultValue       FaultKind = "value"       // a setting out of its range, or missing
)

// Fault is one thing wrong with a Spec.
type Fault struct {
	Kind    FaultKind
	Place   string // where: `node "lint"`, `edge lint → gate`
	Name    string // the offending name, where there is one
	Message string
}

func (f Fault) String() string { return f.Place + ": " + f.Message }

// SpecError is every fault of a Spec, in the order of the Spec.
type SpecError struct {
	Graph  string
	Faults []Fault
}

func (e *SpecError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	noun := "faults"
	if len(lines) == 1 {
		noun = "fault"
	}
	return fmt.Sprintf("graph %q has %d %s:\n  %s", e.Graph, len(lines), noun, strings.Join(lines, "\n  "))
}

// known lists names for a message, so that a misspelt one is found.
func known(names []string) string {
	const most = 8
	if len(names) == 0 {
		return "there are none"
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > most {
		return fmt.Sprintf("known are %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "known are " + strings.Join(names, ", ")
}
