package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a JSON Schema (draft 2020-12 unless it names another). It is safe
// for concurrent use.
type Schema struct {
	doc any

	mu   sync.Mutex
	idle []*compiled
}

// idleMost is how many compiled forms are kept for the checks to come.
const idleMost = 8

// compiled is one form of a schema, with the budget of the check that uses it.
type compiled struct {
	is     *jsonschema.Schema
	budget *budget
}

// Compile reads a schema.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if err := meter(doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	s := &Schema{doc: doc}
	first, err := s.compile()
	if err != nil {
		return nil, err
	}
	s.idle = append(s.idle, first)
	return s, nil
}

func (s *Schema) compile() (*compiled, error) {
	b := new(budget)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(readPattern)
	b.register(c)
	const here = "schema:///here"
	if err := c.AddResource(here, s.doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	is, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return &compiled{is, b}, nil
}

func (s *Schema) take() (*compiled, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	return s.compile()
}

func (s *Schema) give(c *compiled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) < idleMost {
		s.idle = append(s.idle, c)
	}
}

// Check returns why v, a value of package value, does not fit: up to three
// places, each with its path. It is an [*ExpenseError] where that could not be
// found out within the budget, and ctx's error where ctx ended first.
func (s *Schema) Check(ctx context.Context, v any) error {
	c, err := s.take()
	if err != nil {
		return err
	}
	defer s.give(c)
	err = c.budget.spend(ctx, v, func() error { return c.is.Validate(v) })
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New(firstFaults(invalid))
	}
	return err
}

// firstFaults says where a value breaks its schema.
func firstFaults(e *jsonschema.ValidationError) string {
	const most = 3
	var faults []string
	p := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(faults) == most {
			return
		}
		if len(e.Causes) == 0 {
			faults = append(faults, placed(e.InstanceLocation, e.ErrorKind.LocalizedString(p)))
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	return strings.Join(faults, "; ")
}

// placed puts before a fault where it is; the value as a whole needs no word.
func placed(location []string, fault string) string {
	if len(location) == 0 {
		return fault
	}
	return fmt.Sprintf("at %s: %s", strings.Join(location, "."), fault)
}

// nowhere follows no reference to another document: a schema comes from a
// server, and must not make us fetch.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("its reference to %s is not followed; put what it refers to into the schema", url)
}
