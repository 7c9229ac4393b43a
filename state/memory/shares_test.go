package memory_test

import (
	"testing"

	"junction/state"
	"junction/state/memory"
	"junction/state/statetest"
)

func TestShares(t *testing.T) {
	t.Parallel()
	statetest.RunShares(t, func(*testing.T) state.ShareStore { return memory.New(nil) })
}
