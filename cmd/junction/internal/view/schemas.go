package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"junction/router"
)

// Schemas are the JSON Schemas of a tool, with every keyword that the server wrote.
type Schemas struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output,omitempty"`
}

// AddSchemas adds to each server the schemas of its tools, by their names.
func AddSchemas(list []Server, statuses []router.ServerStatus) {
	for i, st := range statuses {
		if st.Description == nil {
			continue
		}
		list[i].Schemas = map[string]Schemas{}
		for _, t := range st.Description.Tools {
			list[i].Schemas[Clean(t.Name)] = Schemas{Input: harmless(t.InputSchema), Output: harmless(t.OutputSchema)}
		}
	}
}

// harmless is a JSON text of the same meaning, in which what [Clean] would remove
// is written as an escape.
func harmless(raw json.RawMessage) json.RawMessage {
	text := string(raw)
	if Clean(text) == text {
		return raw
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case Clean(string(r)) != "":
			b.WriteRune(r)
		case r < ' ': // allowed between the parts of a JSON text only
			b.WriteByte(' ')
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return json.RawMessage(b.String())
}
