package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// CheckAnswers decides whether answers can be stored, all or none: lookup says
// of an interrupt's id whether the superstep under way asked it, and whether it
// has its answer. An unknown id is ErrNotFound, an answered one ErrAnswered; the
// first id in order that is wrong is named.
func CheckAnswers(thread string, answers map[string]json.RawMessage, lookup func(id string) (known, answered bool)) error {
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		known, answered := lookup(id)
		switch {
		case !known:
			return fmt.Errorf("thread %s: interrupt %q: %w", thread, id, ErrNotFound)
		case answered:
			return fmt.Errorf("thread %s: interrupt %q: %w", thread, id, ErrAnswered)
		case !json.Valid(answers[id]):
			return fmt.Errorf("thread %s: the answer to interrupt %q is not JSON", thread, id)
		}
	}
	return nil
}
