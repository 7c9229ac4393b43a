package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// answerSchema is as much of a question's JSON Schema as an example needs.
type answerSchema struct {
	Type       any                     `json:"type"`
	Enum       []any                   `json:"enum"`
	AllOf      []answerSchema          `json:"allOf"`
	Required   []string                `json:"required"`
	Properties map[string]answerSchema `json:"properties"`
	If         *answerSchema           `json:"if"`
	Then       *answerSchema           `json:"then"`
	Const      any                     `json:"const"`
}

// mostAnswers bounds how many examples a question gets.
const mostAnswers = 6

// answers are examples of what fits a question, as --answer takes them and
// quoted for a shell: one for each choice where there is a choice.
func answers(raw json.RawMessage) []string {
	var s answerSchema
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return []string{"JSON"}
	}
	if choices := s.choices(); len(choices) > 0 {
		return each(choices, func(v any) string { return Quote(bare(v)) })
	}
	if name, choices := s.chosen(); name != "" {
		return each(choices, func(v any) string { return Quote(s.object(name, v)) })
	}
	return []string{Quote(s.placeholder())}
}

func each(choices []any, show func(any) string) []string {
	var shown []string
	for _, v := range choices[:min(len(choices), mostAnswers)] {
		shown = append(shown, show(v))
	}
	return shown
}

// choices are the values that a list of answers allows.
func (s answerSchema) choices() []any {
	for _, part := range append([]answerSchema{s}, s.AllOf...) {
		if len(part.Enum) > 0 {
			return part.Enum
		}
	}
	return nil
}

// chosen is the required property of an object that takes one of a few values.
func (s answerSchema) chosen() (string, []any) {
	for _, name := range s.Required {
		if enum := s.Properties[name].Enum; len(enum) > 0 {
			return name, enum
		}
	}
	return "", nil
}

// object is an answer with all that is required where a property has a value.
func (s answerSchema) object(chosen string, v any) string {
	required := slices.Clone(s.Required)
	if s.If != nil && s.Then != nil && s.If.Properties[chosen].Const == v {
		required = append(required, s.Then.Required...)
	}
	var fields []string
	for _, name := range required {
		text := s.Properties[name].placeholder()
		if name == chosen {
			text = encode(v)
		}
		fields = append(fields, encode(name)+":"+text)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// placeholder stands for a value of the schema's type. Where a person has to
// fill something in, it is no valid JSON, so that it cannot be sent as it is.
func (s answerSchema) placeholder() string {
	for _, part := range append([]answerSchema{s}, s.AllOf...) {
		switch part.Type {
		case "boolean":
			return "true"
		case "integer", "number":
			return "NUMBER"
		case "string":
			return "TEXT"
		case "array":
			return "[…]"
		case "object":
			if len(part.Required) > 0 {
				return part.object("", nil)
			}
			return "{…}"
		}
	}
	return "JSON"
}

// bare is a value as --answer reads it: text that no JSON could be needs no
// quotes.
func bare(v any) string {
	text, ok := v.(string)
	if ok && text != "" && !json.Valid([]byte(text)) && !strings.ContainsAny(text, `{}[]"=`) {
		return text
	}
	return encode(v)
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// Quote quotes s for a POSIX shell where it must be.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
