package mcp

import (
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// ReconnectPlan is what follows the end of a subscription's stream, as data, before
// any of it is done (R34): wait, have what may have changed unheard read again from
// the methods that know it, and subscribe anew under a new id with the same filter.
// A stream of MCP 2026-07-28 has no place to be taken up at, so nothing is replayed.
type ReconnectPlan struct {
	Server          string        `json:"server"`
	Attempt         int           `json:"attempt"` // from 1, since the last stream that held
	Wait            time.Duration `json:"wait"`    // ns
	Method          string        `json:"method"`  // of the new request
	NewID           bool          `json:"newId"`   // always: an id is used once
	Filter          Filter        `json:"filter"`
	Reread          []string      `json:"reread"`          // methods
	SendLastEventID bool          `json:"sendLastEventId"` // never
}

// PlanReconnect returns the plan for the attempt-th try in a row, from 1. The wait
// follows from the client (b.Seed), the server's id and the attempt alone (R35).
func PlanReconnect(b Backoff, server string, attempt int, f Filter) ReconnectPlan {
	p := ReconnectPlan{
		Server: server, Attempt: attempt, Wait: b.withDefaults().delay(server, attempt),
		Method: string(protocol.MethodSubscriptionsListen), NewID: true, Filter: f,
	}
	if f.ToolsListChanged {
		p.Reread = append(p.Reread, string(protocol.MethodToolsList))
	}
	return p
}
