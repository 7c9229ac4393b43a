package view

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"junction/router"
)

// A schema arrives with all of its keywords, and cannot move a terminal's cursor.
func TestSchemasArePrintedAsTheServerWroteThem(t *testing.T) {
	t.Parallel()
	const wrote = "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\r\n\"if\":{\"const\":9007199254740993},\"description\":\"a\u009b2J\u202eb\"}"
	statuses := []router.ServerStatus{
		{Server: &router.Server{ID: "off"}},
		{Server: &router.Server{ID: "on"}, Description: &router.Description{Tools: []router.Tool{{Name: "t\x1b", InputSchema: json.RawMessage(wrote)}}}},
	}
	list := NewServers(statuses, false)
	AddSchemas(list, statuses)
	var out strings.Builder
	if err := JSON(&out, list); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\u009b\u202e\r\x1b") || !strings.Contains(out.String(), "9007199254740993") {
		t.Errorf("printed %q", out.String())
	}
	var read []struct {
		Schemas map[string]struct{ Input any }
	}
	if err := json.Unmarshal([]byte(out.String()), &read); err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal([]byte(wrote), &want); err != nil {
		t.Fatal(err)
	}
	if read[0].Schemas != nil || !reflect.DeepEqual(read[1].Schemas["t"].Input, want) {
		t.Errorf("read %v, want %v", read, want)
	}
}
