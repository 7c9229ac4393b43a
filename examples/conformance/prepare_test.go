package main

import (
	"encoding/json"
	"testing"
)

func TestAnswersAgreeAndLeaveOutWhatHasADefault(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"boolean"}`: `true`,
		`{"type":"object","properties":{"action":{"enum":["accept","decline"]},"content":{"type":"object","properties":{
			"confirmed":{"type":"boolean"},"name":{"type":"string","default":"John"}}}}}`: `{"action":"accept","content":{"confirmed":true}}`,
	} {
		got, err := question{ID: "q", Schema: json.RawMessage(schema)}.answer()
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", schema, got, err)
		}
	}
	if got, err := (question{Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}).answer(); err == nil {
		t.Errorf("a name was made up: %s", got)
	}
}

func TestTheCallsThatASuiteAsksForArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	const asked = `{"name":"s","toolCalls":[{"name":"t","arguments":{"n":9007199254740993,"none":null}}]}`
	got, err := callsOf(asked)
	if err != nil || string(got) != `{"calls":[{"name":"t","arguments":{"n":9007199254740993,"none":null}}]}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := callsOf("no JSON"); err == nil {
		t.Error("no error")
	}
}
