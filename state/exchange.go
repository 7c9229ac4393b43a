package state

import (
	"encoding/json"
	"time"
)

// RemoteTask is the task that a server made of a call. It goes on when the
// connection ends, and is asked for by its id until it has ended (MCP's extension
// io.modelcontextprotocol/tasks, and tasks of 2025-11-25).
type RemoteTask struct {
	ID      string        `json:"id"`
	Created time.Time     `json:"created"`        // on our clock, when the server said so
	TTL     time.Duration `json:"ttl,omitempty"`  // from Created, ns: how long the server keeps it; 0: unsaid
	Poll    time.Duration `json:"poll,omitempty"` // ns between questions, as the server suggests; 0: unsaid
}

// Input is what a server asked for in the middle of a call (MCP 2026-07-28, multi
// round trips): the call goes on, at any instance of the server, once it is made
// again with the answers and the state as they were.
type Input struct {
	Requests map[string]json.RawMessage `json:"requests,omitempty"` // by the server's key: {method, params}
	State    *string                    `json:"state,omitempty"`    // opaque; given back as it is. nil: none
}
