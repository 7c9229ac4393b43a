package state

import "time"

// Call is what a workflow asks of a hop: a capability with needs and
// preferences, or one tool of one server.
type Call struct {
	Capability string
	Need       map[string]any // attributes that must match
	Prefer     map[string]any // attributes that raise the score
	Server     string         // direct call: the server's name or id …
	Tool       string         // … and its tool
	With       any            // arguments: a value of package value, usually map[string]any
	Effect     Effect         // of a direct call; "" is unsafe
	Idle, Max  time.Duration  // 0: the router's defaults; only Max set → Idle = Max
	Attempts   int            // 0: the router's default
	Name       string         // names the hop in its task; "" numbers it
	Session    string         // "shared" (also "") or "thread"
	RouteOnly  bool           // decide, do not call
}

// Answer is what comes back from a hop.
type Answer struct {
	Value    any    // the mapped result, values of package value
	IsError  bool   // the tool said so: a result, final under its key
	Hop      string // identity
	Server   string // id of the server that answered or was chosen
	Endpoint string // its endpoint, without credentials
	Session  string // handle of its session (state.Session.ID)
	Tool     string
	Replayed bool // taken from the journal: nothing was sent
}
