package routed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
	"junction/state"
)

// onlyQuestion is a question's key in inputRequests: a call asks one thing at a time.
const onlyQuestion = "question"

// mostParked bounds the calls that wait for a client to come back with an answer.
const mostParked = 256

// errUndecided is why a call of unknown outcome ends: who could look and decide is
// not asked in the middle of a call.
var errUndecided = errors.New("its outcome is unknown")

// question is one elicitation of a server on its way to the client.
type question struct {
	of     *call
	params json.RawMessage
	state  string // that the client brings back
	answer chan json.RawMessage
}

// declined is the answer of a client that gives none.
var declined = json.RawMessage(`{"action":"decline"}`)

// asking puts the questions of a call's servers to its client; nil where that
// answers none. What a person would have to decide about an unknown outcome is put to
// nobody: it is the evidence that the call fails with.
func (r *Handler) asking(c *call) state.Ask {
	if c.able == (abilities{}) {
		return nil
	}
	return func(ctx context.Context, name string, asked, schema any) (json.RawMessage, error) {
		if strings.HasPrefix(name, "unknown-") {
			c.mu.Lock()
			c.evidence = asked
			c.mu.Unlock()
			return nil, errUndecided
		}
		params, err := elicit(asked, schema, c.able)
		if err != nil || params == nil {
			return declined, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, r.options.Patient, fmt.Errorf("the client has not answered within %s", r.options.Patient))
		defer cancel()
		if c.modern {
			return r.askLater(ctx, c, params)
		}
		reply, err := r.client.Ask(ctx, string(protocol.MethodElicitationCreate), params)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the server's question to the client: %w", err)
		case reply.Error != nil:
			return declined, nil // it cannot ask anybody just now
		}
		return actionOf(reply.Result)
	}
}

// known is what is known of a call whose outcome is not.
func (c *call) known() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evidence
}

// elicit words a question of a hop as the parameters of elicitation/create; nil where
// the client cannot be asked in that way.
func elicit(asked, schema any, able abilities) (json.RawMessage, error) {
	q, _ := asked.(map[string]any)
	message, _ := q["question"].(string)
	if address, isURL := q["url"].(string); isURL {
		if !able.url {
			return nil, nil
		}
		return json.Marshal(map[string]any{"mode": "url", "message": message, "url": address, "elicitationId": rand.Text()})
	}
	if !able.form {
		return nil, nil
	}
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	form, ok := properties["content"].(map[string]any)
	if !ok || form["properties"] == nil {
		form = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return json.Marshal(map[string]any{"message": message, "requestedSchema": form})
}

// actionOf is the part of a client's answer that the server is to have.
func actionOf(result json.RawMessage) (json.RawMessage, error) {
	var a struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}
	if err := json.Unmarshal(result, &a); err != nil || a.Action == "" {
		return nil, errors.New("the client's answer to a server's question has no action")
	}
	return json.Marshal(a)
}

// askLater has the client of a call of the later era sent away with the question, and
// waits for it to come back with the answer.
func (r *Handler) askLater(ctx context.Context, c *call, params json.RawMessage) (json.RawMessage, error) {
	q := &question{of: c, params: params, state: rand.Text(), answer: make(chan json.RawMessage, 1)}
	r.mu.Lock()
	full := len(r.parked) >= mostParked
	if !full {
		r.parked[q.state] = q
	}
	r.mu.Unlock()
	if full {
		return declined, nil
	}
	defer func() {
		r.mu.Lock()
		delete(r.parked, q.state)
		r.mu.Unlock()
	}()
	select {
	case c.asks <- q:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case a := <-q.answer:
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// park sends the client away with a question.
func (r *Handler) park(q *question) mcp.Reply {
	return answer(map[string]any{
		"resultType": "input_required", "requestState": q.state, "_meta": map[string]any{protocol.MetaKeyServerInfo: r.self()},
		"inputRequests": map[string]any{onlyQuestion: map[string]any{"method": protocol.MethodElicitationCreate, "params": q.params}},
	})
}

// goOn takes the client's answer to a question and follows the call further.
func (r *Handler) goOn(ctx context.Context, q request) mcp.Reply {
	given, there := q.Responses[onlyQuestion]
	if !there {
		return invalid("the answer is missing: inputResponses[%q]", onlyQuestion)
	}
	action, err := actionOf(given)
	if err != nil {
		return invalid("inputResponses[%q]: %v", onlyQuestion, err)
	}
	r.mu.Lock()
	asked := r.parked[q.State]
	if asked != nil && asked.of.of.Name == q.Name {
		delete(r.parked, q.State) // it is answered once
	} else {
		asked = nil
	}
	r.mu.Unlock()
	if asked == nil {
		return invalid("no call waits for this answer: it has ended, or was answered")
	}
	asked.answer <- action
	return r.follow(ctx, asked.of, q.Meta)
}
