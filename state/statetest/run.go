package statetest

import (
	"testing"

	"junction/state"
)

// Run checks the contract against stores made by open. Open is called once for
// each theme and closes its store with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) state.Store) {
	for _, theme := range []struct {
		name string
		test func(t *testing.T, s state.Store)
	}{
		{"threads", threads},
		{"status", status},
		{"cancel", cancel},
		{"unheeded cancel", unheeded},
		{"reopen", reopens},
		{"leases", leases},
		{"fencing", fencing},
		{"checkpoints", checkpoints},
		{"channels", channels},
		{"commit", commits},
		{"pending writes", pendingWrites},
		{"interrupts", interrupts},
		{"records", records},
		{"record order and filters", recordFilters},
		{"blobs", blobs},
		{"large values", largeValues},
		{"sessions", sessions},
		{"delete", deletes},
		{"retention", retention},
		{"aliasing", aliasing},
		{"cancelled contexts", cancelledContexts},
		{"crash points", crashes},
		{"lease history", leaseHistory},
	} {
		t.Run(theme.name, func(t *testing.T) { theme.test(t, open(t)) })
	}
	t.Run("same as memory", func(t *testing.T) { sameAsMemory(t, open) })
}
