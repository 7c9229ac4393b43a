package memory_test

import (
	"testing"

	"junction/state"
	"junction/state/memory"
	"junction/state/statetest"
)

func TestHealth(t *testing.T) {
	statetest.RunHealth(t, func(*testing.T) state.HealthStore { return memory.New(nil) })
}
