package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"junction/graph"
	"junction/state/document"
	"junction/state/value"
)

// ask is a question to a person.
type ask struct {
	question, show, name *template
	schema               any // JSON Schema of the answer; nil: anything
}

func (p *parser) ask(n *document.Node, s scope) *ask {
	m := n.Mapping("question", "show", "answer", "name")
	a := &ask{
		question: p.template(m.Require("question"), s, "string"),
		show:     p.template(m.Get("show"), s),
		name:     p.template(m.Get("name"), s, "string"),
	}
	if n := m.Get("answer"); n != nil {
		a.schema = answerSchema(n)
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

// hold makes answers fit the channels to which they are written as they are: an
// answer that does not is refused, instead of failing the node once it is stored.
func (a *ask) hold(ws writes) {
	var all []any
	if a.schema != nil {
		all = append(all, a.schema)
	}
	for _, w := range ws {
		s := w.channel.schema()
		if !w.from.exactly("answer") || s == nil || slices.ContainsFunc(all, func(o any) bool { return value.Equal(o, s) }) {
			continue
		}
		all = append(all, s)
		for _, v := range a.choices() {
			if err := w.channel.fits(v); err != nil {
				w.from.at.Fault("change the answers or the type of the channel", "one of the answers does not fit: %v", err)
				break
			}
		}
	}
	switch len(all) {
	case 0:
	case 1:
		a.schema = all[0]
	default:
		a.schema = map[string]any{"allOf": all}
	}
}

// choices are the answers there are, where the file lists them.
func (a *ask) choices() []any {
	m, _ := a.schema.(map[string]any)
	list, _ := m["enum"].([]any)
	return list
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
