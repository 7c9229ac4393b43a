package routed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
	"junction/state/value"
)

// anyObject is the schema of arguments of which nothing is known.
var anyObject = json.RawMessage(`{"type":"object"}`)

// shape is a capability as a tool.
type shape struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
}

// shapes are the tools as they were last told. They are looked at again in the
// background, from the first list on.
type shapes struct {
	once  sync.Once
	first chan struct{} // closed once they were looked at

	mu   sync.Mutex
	last []shape
	told bool // a client has read them
}

// list answers tools/list at once: what no contract and no server has told yet is a
// tool of open schema, and the client hears when more is known.
func (r *Handler) list(ctx context.Context, q request) mcp.Reply {
	r.shown.once.Do(func() { r.work.Go(r.look) })
	wait := time.NewTimer(r.options.First)
	defer wait.Stop()
	select {
	case <-r.shown.first:
	case <-wait.C:
	case <-ctx.Done():
	}
	r.shown.mu.Lock()
	tools := r.shown.last
	r.shown.told = true
	r.shown.mu.Unlock()
	if tools == nil {
		for _, c := range r.capabilities {
			tools = append(tools, r.plain(c))
		}
	}
	if q.modern {
		return answer(r.complete(map[string]any{"tools": tools, "ttlMs": r.options.Look.Milliseconds(), "cacheScope": "private"}))
	}
	return answer(map[string]any{"tools": tools})
}

// look keeps the shapes up to date until the client has gone.
func (r *Handler) look() {
	again := time.NewTicker(r.options.Look)
	defer again.Stop()
	for first := true; ; first = false {
		all := make([]shape, len(r.capabilities))
		var looking sync.WaitGroup
		for i, c := range r.capabilities {
			looking.Go(func() { all[i] = r.shapeOf(c) })
		}
		looking.Wait()
		r.shown.mu.Lock()
		changed := r.shown.told && !slices.EqualFunc(r.shown.last, all, shape.equal)
		r.shown.last = all
		r.shown.mu.Unlock()
		if first {
			close(r.shown.first)
		}
		if changed {
			r.client.Notify(mcp.Notification{Method: protocol.MethodNotificationToolsListChanged})
		}
		select {
		case <-r.life.Done():
			return
		case <-again.C:
		}
	}
}

func (s shape) equal(o shape) bool {
	return s.Name == o.Name && s.Description == o.Description && bytes.Equal(s.Input, o.Input) && bytes.Equal(s.Output, o.Output)
}

// plain is what is known of a capability without asking a server.
func (r *Handler) plain(c Capability) shape {
	s := shape{Name: c.Name, Description: fmt.Sprintf("The capability %s, done by whichever server fits best%s.", c.Name, forWhat(c.Need)), Input: anyObject}
	contract := r.discovery.Snapshot().Contracts[c.Name]
	if isObject(contract.Input) {
		s.Input = contract.Input
		if said := describes(contract.Input); said != "" {
			s.Description = said
		}
	}
	if isObject(contract.Output) {
		s.Output = contract.Output
	}
	return s
}

// shapeOf is the capability's contract, completed by what the tool of the best offer
// says: of those that fit best by their attributes, the first by its server's name, so
// that the tool does not change with the servers' health.
func (r *Handler) shapeOf(c Capability) shape {
	s := r.plain(c)
	contract := r.discovery.Snapshot().Contracts[c.Name]
	if isObject(contract.Input) && describes(contract.Input) != "" {
		return s
	}
	ctx, cancel := context.WithTimeout(r.life, r.options.Look)
	defer cancel()
	decision, err := r.router.Route(ctx, state.Call{Capability: c.Name, Need: c.Need, Prefer: c.Prefer})
	if err != nil || len(decision.Candidates) == 0 {
		return r.lastOf(s)
	}
	best := slices.MaxFunc(decision.Candidates, func(a, b router.Candidate) int {
		return cmp.Or(cmp.Compare(a.Match, b.Match), cmp.Compare(b.Server, a.Server), cmp.Compare(b.Tool, a.Tool))
	})
	in, err := r.router.Inspect(ctx, best.Server)
	if err != nil {
		return r.lastOf(s)
	}
	for _, t := range in.Terms {
		if t.Tool != nil && t.Name == best.Tool && strings.EqualFold(t.Capability, c.Name) {
			return s.completedBy(&t, contract)
		}
	}
	return r.lastOf(s)
}

// lastOf is the shape that the capability had before, while no server can tell.
func (r *Handler) lastOf(s shape) shape {
	r.shown.mu.Lock()
	defer r.shown.mu.Unlock()
	for _, before := range r.shown.last {
		if before.Name == s.Name {
			return before
		}
	}
	return s
}

// completedBy takes over what the tool says and the contract does not. The schema of
// a tool whose arguments are mapped is not the capability's.
func (s shape) completedBy(t *router.Terms, contract router.Contract) shape {
	if t.Tool.Description != "" && describes(contract.Input) == "" {
		s.Description = t.Tool.Description
	}
	if len(contract.Input) == 0 && t.Offer.With == nil && isObject(t.Tool.InputSchema) {
		s.Input = withoutKey(t.Tool.InputSchema, t.Key)
	}
	return s
}

// withoutKey is the schema without the argument that carries the key of a
// conditional call, which the hop fills in.
func withoutKey(schema json.RawMessage, key string) json.RawMessage {
	v, err := value.Parse(schema)
	object, ok := v.(map[string]any)
	if err != nil || !ok || key == "" {
		return schema
	}
	if properties, ok := object["properties"].(map[string]any); ok {
		delete(properties, key)
	}
	if required, ok := object["required"].([]any); ok {
		object["required"] = slices.DeleteFunc(required, func(name any) bool { return name == key })
	}
	without, err := value.Encode(object)
	if err != nil {
		return schema
	}
	return without
}

// isObject says whether a schema can stand where a tool has one: of type object.
func isObject(schema json.RawMessage) bool {
	var s struct{ Type string }
	return len(schema) > 0 && json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

func describes(schema json.RawMessage) string {
	var s struct{ Description string }
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return ""
	}
	return s.Description
}

// forWhat names the needs, in order.
func forWhat(need map[string]any) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(need)) {
		all = append(all, fmt.Sprintf("%s %v", name, need[name]))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}
