package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"junction/router"
	jsonschema "junction/state/schema"
)

// schema is a tool's JSON Schema, compiled when it is first needed.
type schema struct {
	raw  json.RawMessage
	once sync.Once
	is   *jsonschema.Schema
	err  error
}

func newSchema(raw json.RawMessage) *schema {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return &schema{raw: raw}
}

// check returns why v does not fit, or the cause with which ctx ended before
// that was known; a nil schema fits anything.
func (s *schema) check(ctx context.Context, v any) error {
	if s == nil {
		return nil
	}
	s.once.Do(func() { s.is, s.err = jsonschema.Compile(s.raw) })
	if s.err != nil {
		return s.err
	}
	return s.is.Check(ctx, v)
}

// misfit is the failure of a check; did says whether the request had been sent.
func misfit(ctx context.Context, code router.Code, text string, err error, did bool) *router.CallError {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return ended(ctx, did)
	}
	if did {
		return unknown(code, text+excerpt(err.Error()), nil)
	}
	return notSent(code, text+excerpt(err.Error()), nil)
}
