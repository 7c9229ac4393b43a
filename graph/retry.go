package graph

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"time"
)

// Defaults of a Retry.
const (
	DefaultRetryAttempts = 3
	DefaultRetryDelay    = 500 * time.Millisecond
	DefaultRetryCap      = 128 * time.Second
)

// again decides whether a node that failed its nth attempt is run once more.
func (t *task) again(n int, err error) bool {
	r := t.spec.Retry
	if r == nil || t.classify(err) != failed || breaks(err) || nondeterministic(err) || t.run.drain.begun() {
		return false
	}
	var mutation *MutationError
	if errors.As(err, &mutation) {
		return false
	}
	most := r.Attempts
	if most == 0 {
		most = DefaultRetryAttempts
	}
	if n >= most {
		return false
	}
	if r.If == nil {
		return true
	}
	yes := false
	if p := protected(func() error { yes = r.If(err); return nil }); p != nil {
		return false
	}
	return yes
}

// delay is what passes before the attempt after the nth: doubled each time, with
// full jitter drawn from the task's identity, so that it can be replayed.
func (r *Retry) delay(task string, n int) time.Duration {
	d, most := r.Delay, r.Cap
	if d == 0 {
		d = DefaultRetryDelay
	}
	if most == 0 {
		most = DefaultRetryCap
	}
	for range n - 1 {
		if d > most/2 {
			d = most
			break
		}
		d *= 2
	}
	d = min(d, most)
	random := rand.New(rand.NewPCG(seed(task), uint64(n)))
	return time.Duration(random.Int64N(int64(d) + 1))
}

// seed is the beginning of a task's identity as a number.
func seed(task string) uint64 {
	b, err := hex.DecodeString(task)
	if err != nil || len(b) < 8 {
		return 0 // a constant is as good a seed
	}
	return binary.BigEndian.Uint64(b)
}

// wait lets a delay pass; false: the task was cut meanwhile.
func (t *task) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	case <-t.run.drain.channel():
		return false
	}
}
