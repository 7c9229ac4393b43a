package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"junction/state"
)

// schemas keeps compiled JSON Schemas by the hash of their text, so that every
// hop checks against the current schema and compiles it once. A schema that
// cannot be compiled is remembered too.
type schemas struct {
	mu sync.Mutex
	by map[string]compiled
}

type compiled struct {
	schema *jsonschema.Schema
	err    error
}

// schemasKept bounds the cache: a server that sends another schema at each
// handshake must not fill the memory.
const schemasKept = 4096

// check returns why v, a value of package value, does not fit the schema raw.
// No schema fits anything.
func (s *schemas) check(raw json.RawMessage, v any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	hash := state.Hash(raw)
	s.mu.Lock()
	c, ok := s.by[hash]
	s.mu.Unlock()
	if !ok {
		c.schema, c.err = compile(raw)
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
	err := c.schema.Validate(v)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New(firstFault(invalid))
	}
	return err
}

func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(knownRegexp)
	const here = "schema:/here"
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	schema, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return schema, nil
}

// nowhere follows no reference to another document: a schema comes from a
// server, and must not make us fetch.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("its reference to %s is not followed; put what it refers to into the schema", url)
}

// knownRegexp leaves a pattern that Go cannot read (a look-ahead) to the server.
func knownRegexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return unread(pattern), nil //nolint:nilerr // what Go cannot read is no fault of the schema
	}
	return re, nil
}

type unread string

func (unread) MatchString(string) bool { return true }
func (u unread) String() string        { return string(u) }
