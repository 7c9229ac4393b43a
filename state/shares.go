package state

import (
	"errors"
	"fmt"
	"time"
)

// CheckShares refuses what no [ShareStore] takes.
func CheckShares(worker string, shares []Share, keep time.Duration) error {
	switch {
	case worker == "":
		return errors.New("shares of a worker without a name")
	case len(shares) > MostShares:
		return fmt.Errorf("%d shares of worker %s: %d at most", len(shares), worker, MostShares)
	case keep < time.Millisecond:
		return fmt.Errorf("shares of worker %s for %v: 1ms at least", worker, keep)
	}
	return nil
}
