package mcp

import (
	"context"
	"time"

	"junction/router"
)

// Clocks of a call that sets neither.
const (
	defaultIdle = 30 * time.Second
	defaultMax  = 5 * time.Minute
)

// clocks end a call's context: the idle one is set back by progress, the
// maximum one never. Both start when the call does, so queueing and connecting
// count. The caller's own deadline stands above them as ctx's parent.
type clocks struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	span      time.Duration // of the idle clock
	until     time.Time     // when the maximum, or the caller's deadline, ends
	idle, max *time.Timer
}

// limits resolves what a call leaves unsaid: Idle alone never exceeds its
// maximum, Max alone is the idle time too.
func limits(c *router.ToolCall) (idle, maximum time.Duration) {
	switch {
	case c.Idle <= 0 && c.Max <= 0:
		return defaultIdle, defaultMax
	case c.Idle <= 0:
		return c.Max, c.Max
	case c.Max <= 0:
		return c.Idle, max(c.Idle, defaultMax)
	}
	return c.Idle, c.Max
}

func startClocks(ctx context.Context, c *router.ToolCall) *clocks {
	idle, maximum := limits(c)
	k := &clocks{span: idle, until: time.Now().Add(maximum)}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(k.until) {
		k.until = deadline
	}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	// Two timers that end together are one: the maximum.
	if idle < maximum {
		k.idle = time.AfterFunc(idle, func() { k.cancel(errIdle) })
	}
	k.max = time.AfterFunc(maximum, func() { k.cancel(errMaximum) })
	return k
}

// rewind sets the idle clock back. One that has run out stays so: its cause
// was recorded first.
func (k *clocks) rewind() {
	if k.idle != nil && k.ctx.Err() == nil {
		k.idle.Reset(k.span)
	}
}

// stop releases the timers.
func (k *clocks) stop() {
	if k.idle != nil {
		k.idle.Stop()
	}
	k.max.Stop()
	k.cancel(nil)
}
