package router

import (
	"context"
	"encoding/json"
	"sync"

	"junction/state"
	"junction/state/schema"
)

// schemas keeps compiled JSON Schemas by the hash of their text, so that every
// hop checks against the current schema and compiles it once. A schema that
// cannot be compiled is remembered too.
type schemas struct {
	mu sync.Mutex
	by map[string]compiled
}

type compiled struct {
	schema *schema.Schema
	err    error
}

// schemasKept bounds the cache: a server that sends another schema at each
// handshake must not fill the memory.
const schemasKept = 4096

// check returns why v, a value of package value, does not fit the schema raw.
// No schema fits anything.
func (s *schemas) check(ctx context.Context, raw json.RawMessage, v any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	hash := state.Hash(raw)
	s.mu.Lock()
	c, ok := s.by[hash]
	s.mu.Unlock()
	if !ok {
		c.schema, c.err = schema.Compile(raw)
		s.mu.Lock()
		if s.by == nil || len(s.by) >= schemasKept {
			s.by = make(map[string]compiled)
		}
		s.by[hash] = c
		s.mu.Unlock()
	}
	if c.err != nil {
		return c.err
	}
	return c.schema.Check(ctx, v)
}
