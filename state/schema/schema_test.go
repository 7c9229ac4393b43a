package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/state/schema"
	"junction/state/value"
)

func check(t *testing.T, raw, v string) error {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(raw))
	if err != nil {
		return err
	}
	x, err := value.Parse([]byte(v))
	if err != nil {
		t.Fatal(err)
	}
	return s.Check(t.Context(), x)
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, schema, value, want string }{
		{"a type", `{"type":"object"}`, `{}`, ""},
		{"another type", `{"type":"object"}`, `[]`, "got array, want object"},
		{"a member", `{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, "at a: got number, want string"},
		{"an integer beyond 2^53", `{"properties":{"n":{"type":"integer","minimum":9007199254740993}}}`, `{"n":9007199254740993}`, ""},
		{"a member called format", `{"properties":{"format":{"type":"string"}},"required":["format"]}`, `{"format":"x"}`, ""},
		{"a member called format, wrong", `{"properties":{"format":{"type":"string"}}}`, `{"format":1}`, "at format: got number"},
		{"a member called properties", `{"properties":{"properties":{"type":"object","properties":{"a":{"type":"string"}}}}}`, `{"properties":{"a":1}}`, "at properties.a: got number"},
		{"a format is a note", `{"format":"email"}`, `"x"`, ""},
		{"a format that nobody knows", `{"type":"string","format":"uint8"}`, `"x"`, ""},
		{"const", `{"const":{"a":{"b":1}}}`, `{"a":{"b":1}}`, ""},
		{"enum of objects", `{"enum":[{"a":1},2]}`, `{"a":1}`, ""},
		{"default is no schema", `{"default":{"a":1},"type":"object"}`, `{}`, ""},
		{"definitions", `{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"x"}`, "at a: got string, want integer"},
		{"a reference to an unknown keyword", `{"shapes":{"n":{"type":"integer"}},"$ref":"#/shapes/n"}`, `"x"`, "got string, want integer"},
		{"an older draft", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"integer"}},"items":[{"$ref":"#/definitions/n"}]}`, `["x"]`, "at 0: got string, want integer"},
		{"dependencies", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "b"},
		{"conditions", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "missing property 'b'"},
		{"a recursive schema", `{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"required":["v"]}`, `{"v":1,"next":{"v":2,"next":{}}}`, "at next.next: missing property 'v'"},
		{"one that refers to itself", `{"$ref":"#"}`, `{}`, "cycle"},
		{"additional members", `{"properties":{"a":true},"additionalProperties":false}`, `{"b":1}`, "additional properties 'b' not allowed"},
		{"unevaluated members", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":1}`, "at b: false schema"},
		{"a boolean schema", `false`, `1`, "false schema"},
		{"a pattern", `{"pattern":"^a+$"}`, `"b"`, "does not match pattern"},
		{"a pattern that Go cannot read", `{"pattern":"^(?=a)"}`, `"b"`, ""},
		{"a reference elsewhere", `{"$ref":"http://127.0.0.1:1/s.json"}`, `1`, "is not followed"},
		{"a reference into data", `{"const":{"a":{"type":"object"}},"$ref":"#/const/a"}`, `1`, "where no schema stands"},
		{"not JSON", `{`, `1`, "not JSON"},
		{"no schema", `{"type":7}`, `1`, "cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := check(t, c.schema, c.value)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// doubling is a schema of n lines that asks for 2ⁿ evaluations.
func doubling(n int, keyword, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":%s},`, n, leaf)
	return b.String()
}

func TestACheckEndsWhateverTheSchema(t *testing.T) {
	for name, raw := range map[string]string{
		"all of":                               doubling(60, "allOf", `{"type":"object"}`) + `"$ref":"#/$defs/d0"}`,
		"any of, none of which fits":           doubling(60, "anyOf", `{"type":"integer"}`) + `"$ref":"#/$defs/d0"}`,
		"the same where only yes or no counts": doubling(60, "anyOf", `{"type":"integer"}`) + `"not":{"$ref":"#/$defs/d0"}}`,
		"one of, with boolean leaves":          doubling(60, "oneOf", `true`) + `"$ref":"#/$defs/d0"}`,
		"in an older draft":                    strings.Replace(doubling(60, "allOf", `{}`), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1) + `"allOf":[{"$ref":"#/$defs/d0"}]}`,
		"under a keyword nobody knows":         strings.ReplaceAll(doubling(60, "allOf", `{}`)+`"$ref":"#/$defs/d0"}`, "$defs", "shapes"),
		"by the depth of the value":            `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			err := check(t, raw, strings.Repeat(`{"a":`, 60)+`{}`+strings.Repeat(`}`, 60))
			if _, ok := errors.AsType[*schema.ExpenseError](err); !ok {
				t.Errorf("%v", err)
			}
			if d := time.Since(begun); d > 20*time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}

func TestACheckEndsWithItsContext(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(doubling(60, "allOf", `{}`) + `"$ref":"#/$defs/d0"}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller left")
	cancel(gone)
	if err := s.Check(ctx, map[string]any{}); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	if err := s.Check(t.Context(), map[string]any{}); errors.Is(err, gone) || err == nil {
		t.Errorf("the next check: %v", err)
	}
}

func TestALargeValueOfAnHonestSchemaIsWithinItsBudget(t *testing.T) {
	const raw = `{"type":"object","properties":{"issues":{"type":"array","items":{"type":"object","required":["line"],
		"properties":{"line":{"type":"integer"},"severity":{"enum":["low","high"]},"fix":{"anyOf":[{"type":"null"},{"type":"string"}]}}}}}}`
	issues := make([]any, 20000)
	for i := range issues {
		issues[i] = map[string]any{"line": int64(i), "severity": "low", "fix": "x"}
	}
	s, err := schema.Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context(), map[string]any{"issues": issues}); err != nil {
		t.Error(err)
	}
}

func TestChecksAtOnceKeepTheirBudgetsApart(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			v := map[string]any{}
			if i%2 == 0 {
				v["a"] = int64(1)
			}
			for range 50 {
				if err := s.Check(t.Context(), v); (err == nil) != (i%2 == 0) {
					t.Errorf("%v: %v", v, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestAMatchThatWouldTakeLongIsNotMade(t *testing.T) {
	v, err := json.Marshal(strings.Repeat("a", 4<<20))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := check(t, `{"pattern":"^(((a{1,30}){1,30}){1,30})+b$"}`, string(v)); err != nil {
		t.Log(err)
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("it took %s", d)
	}
}
