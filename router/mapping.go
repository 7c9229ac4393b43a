package router

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"junction/state"
	"junction/state/value"
)

// defaultKey is where a conditional call carries its key when the offer does
// not say: servers that know nothing of it ignore it.
const defaultKey = "_meta.dev.junction/idempotency-key"

// request maps a call's arguments to a tool's and checks them against the
// tool's input schema. key is the idempotency key of a conditional call.
func (r *Router) request(ctx context.Context, e *entry, with any, key string) (ToolCall, error) {
	mapped := with
	if e.offer.With != nil {
		var err error
		if mapped, err = e.offer.With.Eval(ctx, map[string]any{"with": with}); err != nil {
			return ToolCall{}, fmt.Errorf("its mapping of the arguments: %w", err)
		}
	}
	arguments, ok := mapped.(map[string]any)
	if !ok && mapped != nil {
		return ToolCall{}, fmt.Errorf("its arguments are of type %s; a tool takes an object", value.Kind(mapped))
	}
	call := ToolCall{Tool: e.offer.Tool, Arguments: map[string]any{}}
	maps.Copy(call.Arguments, arguments)
	if effectOf(e.offer) == state.Conditional {
		place := keyPlace(e.offer)
		if name, meta := strings.CutPrefix(place, "_meta."); meta {
			call.Meta = map[string]any{name: key}
		} else {
			call.Arguments[place] = key
		}
	}
	if err := r.schemas.check(ctx, e.known.tools[e.offer.Tool].InputSchema, call.Arguments); err != nil {
		return ToolCall{}, fmt.Errorf("the input schema of its tool %s: %w", e.offer.Tool, err)
	}
	return call, nil
}

// keyPlace is where a conditional call of the offer carries its key.
func keyPlace(o *Offer) string {
	if o.Key == "" {
		return defaultKey
	}
	return o.Key
}

// answer maps a tool's result to the capability's and holds it to the contract.
// A tool's own error is not mapped: it is what the tool said.
func (r *Router) answer(ctx context.Context, e *entry, contract Contract, res *ToolResult) (any, error) {
	if e.offer.Result == nil || res.IsError {
		plain := res.Structured
		if plain == nil {
			plain = map[string]any{"text": res.Text}
		}
		if res.IsError {
			return value.Normalize(plain)
		}
		return r.promised(ctx, contract, plain)
	}
	content := res.Content
	if content == nil {
		content = []any{}
	}
	mapped, err := e.offer.Result.Eval(ctx, map[string]any{"result": map[string]any{
		"structured": res.Structured, "text": res.Text, "content": content, "isError": res.IsError,
	}})
	if err != nil {
		return nil, fmt.Errorf("the mapping of the answer of tool %s: %w", e.offer.Tool, err)
	}
	return r.promised(ctx, contract, mapped)
}

func (r *Router) promised(ctx context.Context, contract Contract, v any) (any, error) {
	v, err := value.Normalize(v)
	if err != nil {
		return nil, err
	}
	if err := r.schemas.check(ctx, contract.Output, v); err != nil {
		return nil, fmt.Errorf("the output contract of %s: %w", contract.Capability, err)
	}
	return v, nil
}

func effectOf(o *Offer) state.Effect {
	if o.Effect == "" {
		return state.Unsafe
	}
	return o.Effect
}
