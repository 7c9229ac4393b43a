package router

import "junction/state"

// Key returns the call with a name for its hop. Hops without a name run one
// after another and are numbered; named ones of a task may run at once. The
// name must be the same whenever the node runs again.
func Key(name string, c state.Call) state.Call {
	c.Name = name
	return c
}
