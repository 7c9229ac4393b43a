package review

import (
	"fmt"

	"junction/router"
	"junction/router/mcp"
)

// Recovery is what follows when the connection is lost (R34, R35).
type Recovery struct {
	Connect         string   `json:"connect"` // when the next attempt is made
	Within          string   `json:"within"`  // that one attempt must succeed
	SendLastEventID bool     `json:"sendLastEventId"`
	Reread          []string `json:"reread"`    // by these methods, in this order
	InFlight        string   `json:"in_flight"` // what becomes of requests that had no answer
	Tasks           string   `json:"tasks"`     // what becomes of a call that the server made a task of
	// Subscription is the plan for the first try after the stream of a
	// subscription ended; nil: the server is not subscribed to.
	Subscription *mcp.ReconnectPlan `json:"subscription,omitempty"`
}

func recovery(in *router.Inspection, c *mcp.Policy) Recovery {
	r := Recovery{
		Connect:  fmt.Sprintf("with the next use; after failures in a row %s doubled up to %s, full jitter, no last attempt", span(c.Backoff.Base), span(c.Backoff.Cap)),
		Within:   span(c.ConnectTimeout),
		Reread:   []string{"initialize", "tools/list"},
		InFlight: "never sent again by itself: what the retry table says for " + string(router.Transport),
		Tasks:    "a task outlives the connection: it is asked for by its id (tasks/get) until it has ended; nothing is called again",
	}
	if d := in.Description; d != nil && d.Modern {
		r.Reread[0] = "server/discover"
		plan := mcp.PlanReconnect(c.Backoff, in.Server.ID, 1, mcp.Filter{ToolsListChanged: true})
		r.Subscription, r.SendLastEventID = &plan, plan.SendLastEventID
	}
	return r
}
