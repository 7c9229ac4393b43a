package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/state"
	"junction/state/value"
)

// confirmed is what a verify tool said of an attempt of unknown outcome.
type confirmed struct {
	happened bool
	value    any // of what happened: what the call would have returned
}

// verify asks the offer's verify tool whether an attempt took effect. known is
// false where there is none, or it cannot tell: then a person is asked. That it did
// not happen is believed once the attempt's maximum time has passed, since the
// first request may be under way until then.
func (h *hop) verify(ctx context.Context, rec state.Record) (v confirmed, known bool, err error) {
	c := h.choiceOf(ctx, rec)
	if c == nil || c.entry.offer.Verify == nil || c.entry.offer.Tool != rec.Tool {
		return v, false, nil
	}
	if c.entry.server.Endpoint() != rec.Endpoint {
		return v, false, nil // who only has the id of the server that was called cannot know
	}
	for {
		asked := time.Now()
		happened, result, err := h.askVerify(ctx, c, rec)
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, state.ErrDraining)):
			return v, false, err
		case err != nil:
			return v, false, nil //nolint:nilerr // it cannot tell; the evidence is a person's to judge
		case happened:
			if v.value, err = h.r.answer(ctx, &c.entry, c.contract, &ToolResult{Structured: result}); err != nil {
				return v, false, nil //nolint:nilerr // it happened with a result nobody can use: a person gives one
			}
			v.happened = true
			return v, true, nil
		}
		left := min(rec.Started.Add(rec.Max).Sub(asked), rec.Max)
		if left <= 0 {
			return v, true, nil
		}
		if err := h.wait(ctx, left, nil); err != nil {
			return v, false, err
		}
	}
}

// askVerify calls the verify tool once.
func (h *hop) askVerify(ctx context.Context, c *choice, rec state.Record) (happened bool, result any, err error) {
	if err := h.interrupted(ctx); err != nil {
		return false, nil, err
	}
	if err := h.journal.MaySend(); err != nil {
		return false, nil, err
	}
	o := c.entry.offer
	call, err := h.r.request(ctx, &c.entry, h.with, h.key())
	if err != nil {
		return false, nil, err
	}
	arguments := any(call.Arguments)
	if o.Verify.With != nil {
		if arguments, err = o.Verify.With.Eval(ctx, map[string]any{"with": call.Arguments, "key": rec.Key}); err != nil {
			return false, nil, fmt.Errorf("the arguments of verify tool %s: %w", o.Verify.Tool, err)
		}
	}
	given, ok := arguments.(map[string]any)
	if !ok {
		return false, nil, fmt.Errorf("the arguments of verify tool %s are of type %s", o.Verify.Tool, value.Kind(arguments))
	}
	answer, err := h.r.caller.Call(ctx, c.entry.server, ToolCall{Tool: o.Verify.Tool, Arguments: given, Meta: h.traced(nil, &rec), Idle: h.idle, Max: h.max})
	switch {
	case err != nil:
		return false, nil, err
	case answer.IsError:
		return false, nil, fmt.Errorf("verify tool %s: %s", o.Verify.Tool, answer.Text)
	}
	told := answer.Structured
	if o.Verify.Result != nil {
		content := answer.Content
		if content == nil {
			content = []any{}
		}
		if told, err = o.Verify.Result.Eval(ctx, map[string]any{"result": map[string]any{
			"structured": answer.Structured, "text": answer.Text, "content": content, "isError": false,
		}}); err != nil {
			return false, nil, fmt.Errorf("the answer of verify tool %s: %w", o.Verify.Tool, err)
		}
	}
	m, _ := told.(map[string]any)
	happened, ok = m["happened"].(bool)
	if !ok {
		return false, nil, fmt.Errorf("verify tool %s does not say whether it happened", o.Verify.Tool)
	}
	return happened, m["result"], nil
}
