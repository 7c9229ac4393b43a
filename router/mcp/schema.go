package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
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

// check returns why v does not fit; a nil schema fits anything.
func (s *schema) check(v any) error {
	if s == nil {
		return nil
	}
	s.once.Do(s.compile)
	if s.err != nil {
		return s.err
	}
	err := s.is.Validate(v)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New(faults(invalid))
	}
	return err
}

func (s *schema) compile() {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.raw))
	if err != nil {
		s.err = errors.New("the tool's schema is not JSON")
		return
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(lenientRegexp)
	const here = "schema:///tool"
	if err := c.AddResource(here, doc); err == nil {
		s.is, err = c.Compile(here)
		if err == nil {
			return
		}
		s.err = fmt.Errorf("the tool's schema cannot be used: %s", excerpt(err.Error()))
		return
	}
	s.err = errors.New("the tool's schema cannot be used")
}

// nowhere refuses to load what a schema refers to elsewhere: a server must not
// make us fetch.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q is not followed", url)
}

// lenientRegexp lets a pattern pass that Go's syntax does not know, such as a
// look-ahead: what it asks is then left to the server to check.
func lenientRegexp(s string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return anything(s), nil //nolint:nilerr // what Go cannot read is no fault of the schema
	}
	return re, nil
}

type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }

// faults names each place that does not fit and why, on one line.
func faults(e *jsonschema.ValidationError) string {
	var lines []string
	for line := range strings.Lines(e.Error()) {
		line = strings.TrimSpace(line)
		if at, ok := strings.CutPrefix(line, "- "); ok {
			lines = append(lines, strings.TrimPrefix(at, "at "))
		}
	}
	if len(lines) == 0 {
		return excerpt(e.Error())
	}
	return excerpt(strings.Join(lines, "; "))
}
