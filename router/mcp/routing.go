package mcp

import (
	"encoding/json"
	"slices"

	"junction/router"
)

// routingKey names the extension under which a server declares how it wants to
// be routed to, in its capabilities and in a tool's _meta.
const routingKey = "dev.junction/routing"

// attributeNames are declarations that stand beside "attributes", and the
// attribute each one is.
var attributeNames = map[string]string{
	"language_support": "language",
	"review_depth":     "review_depth",
	"response_format":  "response_format",
}

// serverRouting reads the extension from a server's capabilities. Servers of
// the earlier era may keep it under "experimental".
func serverRouting(capabilities json.RawMessage) router.Routing {
	var c struct {
		Extensions   map[string]json.RawMessage `json:"extensions"`
		Experimental map[string]json.RawMessage `json:"experimental"`
	}
	if json.Unmarshal(capabilities, &c) != nil {
		return router.Routing{}
	}
	if raw, ok := c.Extensions[routingKey]; ok {
		return readRouting(raw)
	}
	return readRouting(c.Experimental[routingKey])
}

// readRouting reads a declaration. It is a claim: what cannot be read is left
// out, since a call does not depend on it.
func readRouting(raw json.RawMessage) router.Routing {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return router.Routing{}
	}
	var r router.Routing
	read(fields["latency_p95_ms"], &r.LatencyP95MS)
	read(fields["max_concurrent_requests"], &r.MaxConcurrent)
	read(fields["requires_auth"], &r.RequiresAuth)
	read(fields["capability"], &r.Capability)
	r.LatencyP95MS, r.MaxConcurrent = max(0, r.LatencyP95MS), max(0, r.MaxConcurrent)
	var attributes map[string]json.RawMessage
	read(fields["attributes"], &attributes)
	for from, to := range attributeNames {
		if raw, ok := fields[from]; ok && attributes[to] == nil {
			if attributes == nil {
				attributes = map[string]json.RawMessage{}
			}
			attributes[to] = raw
		}
	}
	for name, raw := range attributes {
		if to, ok := attributeNames[name]; ok && to != name {
			name = to
		}
		if values := stringsOf(raw); len(values) > 0 {
			if r.Attributes == nil {
				r.Attributes = map[string][]string{}
			}
			r.Attributes[name] = merge(r.Attributes[name], values)
		}
	}
	return r
}

// read fills into where raw fits, else leaves it.
func read[T any](raw json.RawMessage, into *T) {
	var v T
	if len(raw) > 0 && json.Unmarshal(raw, &v) == nil {
		*into = v
	}
}

// stringsOf reads one string or a list of them.
func stringsOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	read(raw, &many)
	return many
}

func merge(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
