package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"junction/graph"
	"junction/state/document"
	"junction/state/value"
)

// ask is a question to a person.
type ask struct {
	question, show, name *template
	schema               any // JSON Schema of the answer; nil: anything
	given                bool
}

func (p *parser) ask(n *document.Node, s scope) *ask {
	m := n.Mapping("question", "show", "answer", "name")
	a := &ask{
		question: p.template(m.Require("question"), s, "string"),
		show:     p.template(m.Get("show"), s),
		name:     p.template(m.Get("name"), s, "string"),
	}
	if n := m.Get("answer"); n != nil {
		a.schema, a.given = answerSchema(n), true
	}
	return a
}

// answerSchema reads a type's name, a list of the answers there are, or a JSON
// Schema.
func answerSchema(n *document.Node) any {
	switch n.Kind {
	case document.Text:
		if t := n.OneOf(typeNames...); t != "" && t != "any" {
			return map[string]any{"type": t}
		}
		return nil
	case document.List:
		if len(n.List()) == 0 {
			n.Fault("", "a list of answers needs at least one")
		}
		return map[string]any{"enum": n.Value()}
	case document.Map:
		if err := checkSchema(n.Value()); err != nil {
			n.Fault("", "this is no JSON Schema: %v", err)
		}
		return n.Value()
	}
	n.Fault("such as boolean, [yes, no] or {type: object, required: [reason]}", "a type, a list of answers or a JSON Schema is expected here, not %s", n.Kind)
	return nil
}

var errElsewhere = errors.New("it must not refer to another document")

// nowhere keeps schemas from being fetched.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errElsewhere }

func checkSchema(schema any) error {
	// The library takes numbers as float64; whole numbers of ours are int64.
	data, err := value.Encode(schema)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource("answer.json", doc); err != nil {
		return err
	}
	_, err = c.Compile("answer.json")
	return err
}

// answerType guesses the type of answers, in the words of package expr.
func (a *ask) answerType() string {
	if m, ok := a.schema.(map[string]any); ok {
		if t, ok := m["type"].(string); ok {
			return exprType(t)
		}
	}
	return "any"
}

// infer takes the schema from the channel to which the answer is written as it
// is, when the file does not give one.
func (a *ask) infer(ws writes) {
	if a.given {
		return
	}
	for _, w := range ws {
		if w.from.exactly("answer") && w.channel.schema() != nil {
			a.schema = w.channel.schema()
			return
		}
	}
}

// do asks, or returns the answer. The error of an unanswered question is the
// graph's interrupt.
func (a *ask) do(ctx context.Context, e env) (any, error) {
	name, err := a.name.text(ctx, e)
	if err != nil {
		return nil, err
	}
	text, err := a.question.text(ctx, e)
	if err != nil {
		return nil, err
	}
	question := map[string]any{"question": text}
	if a.show != nil {
		if question["show"], err = a.show.eval(ctx, e); err != nil {
			return nil, err
		}
	}
	raw, err := graph.AskNamed(ctx, name, question, a.schema)
	if err != nil {
		return nil, err
	}
	v, err := value.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the answer that was stored: %w", err)
	}
	return v, nil
}
