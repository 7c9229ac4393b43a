package schema

import (
	"context"
	"fmt"
	"math/bits"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ExpenseError reports a check that would have cost more than any honest schema
// asks for.
type ExpenseError struct{ Evaluations int }

func (e *ExpenseError) Error() string {
	return fmt.Sprintf("checking it took more than %d evaluations; the schema's alternatives multiply", e.Evaluations)
}

const (
	// allowance and perValue make a check's budget: the second for each value
	// that is checked, members and items counted.
	allowance = 200_000
	perValue  = 256
	// glances is how many evaluations pass between two looks at the context.
	glances = 256
)

// budget counts the evaluations of one check.
type budget struct {
	ctx         context.Context
	left, total int
	toGlance    int
}

// stopped ends a check from within the library, which knows no other way.
type stopped struct{ err error }

// spend runs a check of v within its budget.
func (b *budget) spend(ctx context.Context, v any, check func() error) (err error) {
	b.ctx = ctx
	b.total = allowance + perValue*count(v)
	b.left, b.toGlance = b.total, glances
	defer func() {
		b.ctx = nil
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			panic(p)
		}
	}()
	return check()
}

func (b *budget) take(n int) {
	if b.ctx == nil {
		return // not a check: the library looks at the schema itself
	}
	if b.left -= n; b.left < 0 {
		panic(stopped{&ExpenseError{b.total}})
	}
	if b.toGlance -= n; b.toGlance < 0 {
		b.toGlance = glances
		if err := context.Cause(b.ctx); err != nil {
			panic(stopped{err})
		}
	}
}

// A format is the one keyword of ours that the library evaluates before it goes
// into a schema's parts. Each schema object gets one, by its number of parts.
const formatPrefix = "evaluations-"

const formats = 24

func (b *budget) register(c *jsonschema.Compiler) {
	for i := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: fmt.Sprint(formatPrefix, i), Validate: func(any) error {
			b.take(1 << i)
			return nil
		}})
	}
	c.AssertFormat()
}

// literal are the keywords whose values are data and no schemas.
var literal = map[string]bool{"const": true, "enum": true, "default": true, "examples": true, "required": true}

// named are the keywords whose values are schemas, or lists of texts, by name.
var named = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true,
	"dependentSchemas": true, "dependencies": true, "dependentRequired": true, "$vocabulary": true,
}

// meter puts a format that counts into every object of a document that may be
// used as a schema. Formats of its own go: they are notes in the current draft.
func meter(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := meter(item); err != nil {
				return err
			}
		}
	case map[string]any:
		parts := 0
		for key, part := range v {
			n, err := meterPart(key, part)
			if err != nil {
				return err
			}
			parts += n
		}
		v["format"] = fmt.Sprint(formatPrefix, min(bits.Len(uint(parts)), formats-1))
	}
	return nil
}

// meterPart does it for the value of a keyword, and returns how many parts an
// evaluation goes into there.
func meterPart(key string, part any) (parts int, err error) {
	if ref, ok := part.(string); ok && strings.HasSuffix(strings.ToLower(key), "ref") {
		for word := range literal {
			if strings.Contains(ref, "/"+word+"/") || strings.HasSuffix(ref, "/"+word) && !strings.HasSuffix(ref, "/properties/"+word) {
				return 0, fmt.Errorf("it refers to %s, where no schema stands", ref)
			}
		}
		return 1, nil
	}
	members, isMap := part.(map[string]any)
	switch {
	case literal[key]:
		return count(part), nil
	case isMap && named[key]:
		for _, member := range members {
			if err := meter(member); err != nil {
				return 0, err
			}
		}
		return len(members), nil
	case isMap:
		return 1, meter(part)
	}
	list, isList := part.([]any)
	if !isList {
		return 1, nil
	}
	return len(list), meter(list)
}

// count is the number of values in v, itself included.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += count(item)
		}
	case map[string]any:
		for _, member := range v {
			n += count(member)
		}
	}
	return n
}
