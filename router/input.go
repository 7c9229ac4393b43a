package router

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"junction/state"
	"junction/state/schema"
	"junction/state/value"
)

// Actions of an answer to an elicitation (MCP, "Elicitation").
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// mostInputs is how often in a row a server may ask for input within one hop.
const mostInputs = 10

const methodElicit = "elicitation/create"

// elicitation is a server's question to a person.
type elicitation struct {
	Method string `json:"method"`
	Params struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
	} `json:"params"`
}

// askInput puts the questions of an attempt's server to a person, as interrupts of
// the thread: the answers may come days later, and another process takes them. Once
// all are there the hop goes on with them, at the same server or another instance
// of it.
func (h *hop) askInput(ctx context.Context, rec state.Record) error {
	answers := &InputAnswers{State: rec.Input.State, Responses: map[string]json.RawMessage{}}
	var waits error
	for _, key := range slices.Sorted(maps.Keys(rec.Input.Requests)) {
		var e elicitation
		if err := json.Unmarshal(rec.Input.Requests[key], &e); err != nil || e.Method != methodElicit {
			return fmt.Errorf("%s: server %s asks for %q, which nobody here can give", h.what, rec.Server, e.Method)
		}
		name := fmt.Sprintf("input-%s-%d-%d-%s", rec.Hop, rec.Round, rec.Attempt, key)
		q := Question{Message: e.Params.Message, Schema: e.Params.Schema, URL: e.Params.URL}
		answer, err := answerOf(rec, q, func(question, schema any) (json.RawMessage, error) {
			return h.journal.Ask(ctx, name, question, schema)
		})
		if err != nil {
			waits = errors.Join(waits, err) // all of them are put at once
			continue
		}
		if answers.Responses[key], err = answer.encode(); err != nil {
			return err
		}
	}
	if waits != nil {
		return waits
	}
	h.input, h.task, h.kin, h.only = answers, rec.Remote, cmp.Or(rec.Service, rec.Server), rec.Server
	h.open = h.open || rec.Remote != nil && rec.Effect != state.Safe // a task that was begun stays to be settled
	h.record = &rec
	h.asked = append(h.asked, rec)
	return nil
}

// forget drops what was kept for a server while it waited: the hop has its answer.
// It rides in the task's next store operation.
func (h *hop) forget(ctx context.Context) error {
	for _, rec := range h.asked {
		rec.Input = nil
		if err := h.outcome(ctx, rec, false); err != nil {
			return err
		}
	}
	return nil
}

// answerOf puts a question and reads the answer, with the schema's defaults in what
// was left out.
func answerOf(rec state.Record, q Question, put func(question, schema any) (json.RawMessage, error)) (QuestionAnswer, error) {
	var a QuestionAnswer
	question := map[string]any{
		"question": q.Message, "server": rec.Server, "tool": rec.Tool, "hop": rec.Hop,
		"answer": `{"action": "accept", "content": {…}}, or {"action": "decline"}`,
	}
	if q.URL != "" {
		question["url"] = q.URL
		question["answer"] = `open the address, then {"action": "accept"}, or {"action": "decline"}`
	}
	form, err := answerSchema(q)
	if err != nil {
		return a, err
	}
	raw, err := put(question, form)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("the answer to a question of server %s is not {action, content}: %w", rec.Server, err)
	}
	if a.Action == "" {
		a.Action = actionAccept
	}
	if a.Action != actionAccept || q.URL != "" {
		a.Content = nil
		return a, nil
	}
	a.Content, err = withDefaults(q.Schema, a.Content)
	return a, err
}

// answerSchema is what an answer must be: an action, and the content that the
// server asks for where it is accepted.
func answerSchema(q Question) (any, error) {
	content := any(map[string]any{"type": "object"})
	if len(q.Schema) > 0 {
		if _, err := schema.Compile(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of a server's question: %w", err)
		}
		asked, err := objectOf(q.Schema)
		if err != nil {
			return nil, fmt.Errorf("the schema of a server's question: %w", err)
		}
		// What has a default may be left out.
		required := slices.DeleteFunc(texts(asked["required"]), func(name any) bool {
			properties, _ := asked["properties"].(map[string]any)
			p, _ := properties[name.(string)].(map[string]any) //nolint:errcheck // texts holds nothing else
			_, has := p["default"]
			return has
		})
		delete(asked, "required") // null is no list of names
		if len(required) > 0 {
			asked["required"] = required
		}
		content = asked
	}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"properties": map[string]any{
			"action":  map[string]any{"enum": []any{actionAccept, actionDecline, actionCancel}, "description": "left out: accept"},
			"content": content,
		},
	}, nil
}

// texts keeps the texts of a list.
func texts(v any) []any {
	all, _ := v.([]any)
	return slices.DeleteFunc(slices.Clone(all), func(item any) bool { _, ok := item.(string); return !ok })
}

// withDefaults fills in what an answer leaves out and the schema has a default for
// (SEP-1034).
func withDefaults(raw, content json.RawMessage) (json.RawMessage, error) {
	filled, err := objectOf(content)
	if err != nil {
		return nil, fmt.Errorf("the content of the answer: %w", err)
	}
	asked, err := objectOf(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema of a server's question: %w", err)
	}
	properties, _ := asked["properties"].(map[string]any)
	for name, v := range properties {
		p, _ := v.(map[string]any)
		if _, given := filled[name]; !given && p["default"] != nil {
			filled[name] = p["default"]
		}
	}
	return value.Encode(filled)
}

// objectOf reads an object, whose numbers stay exact; nothing is an empty one.
func objectOf(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	v, err := value.Parse(raw)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is of type %s, not an object", value.Kind(v))
	}
	return object, nil
}

// encode is the result of elicitation/create.
func (a QuestionAnswer) encode() (json.RawMessage, error) {
	result := map[string]any{"action": a.Action}
	if len(a.Content) > 0 {
		result["content"] = a.Content
	}
	return json.Marshal(result)
}

// liveAsk answers elicitations of the earlier protocol while the call of an attempt
// stays open; nil where nobody can be asked meanwhile.
func (h *hop) liveAsk(rec *state.Record) func(context.Context, Question) (QuestionAnswer, error) {
	if h.alone || !h.journal.AsksLive() {
		return nil
	}
	asked := 0
	return func(ctx context.Context, q Question) (QuestionAnswer, error) {
		asked++ // one at a time: a call's questions are put one after another
		name := fmt.Sprintf("live-%s-%d-%d-%d", rec.Hop, rec.Round, rec.Attempt, asked)
		return answerOf(*rec, q, func(question, schema any) (json.RawMessage, error) {
			return h.journal.AskLive(ctx, name, question, schema)
		})
	}
}
