package router

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"junction/state"
)

// routeResult is what the record of a decision alone keeps as its result.
type routeResult struct {
	Server   string `json:"server"`
	Endpoint string `json:"endpoint"`
	Session  string `json:"session,omitempty"`
	Tool     string `json:"tool"`
}

// routeOnly decides without calling, and records the decision so that a replay
// of the hop leads to the same server.
func (h *hop) routeOnly(ctx context.Context) (state.Answer, error) {
	if err := h.findBound(ctx); err != nil {
		return state.Answer{}, err
	}
	c, err := h.choose(ctx)
	if err != nil {
		_, _, err = h.settle(ctx, err)
		return state.Answer{}, err
	}
	h.r.options.Observer.OnDecision(h.info(), c.decision)
	route := routeResult{
		Server: c.entry.server.ID, Endpoint: c.entry.server.Endpoint(),
		Session: c.entry.known.description.Session.ID, Tool: c.entry.offer.Tool,
	}
	result, err := json.Marshal(route)
	if err != nil {
		return state.Answer{}, fmt.Errorf("the decision for %s cannot be recorded: %w", h.what, err)
	}
	decision, err := encodeDecision(c.decision)
	if err != nil {
		return state.Answer{}, err
	}
	for _, prior := range h.journaled.Prior() {
		h.last = max(h.last, prior.Attempt)
	}
	rec := state.Record{
		Attempt: h.last + 1, Capability: h.call.Capability, Server: route.Server, Endpoint: route.Endpoint, Tool: route.Tool,
		Effect: state.Safe, Status: state.CallSuccess, Started: time.Now(), Decision: decision,
		Result: result, OutputHash: state.Hash(result), Final: true,
	}
	if err := h.outcome(ctx, rec, false); err != nil {
		return state.Answer{}, err
	}
	return state.Answer{Hop: h.id(), Server: route.Server, Endpoint: route.Endpoint, Session: route.Session, Tool: route.Tool}, nil
}
