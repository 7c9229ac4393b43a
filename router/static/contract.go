package static

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"junction/router"
	"junction/state/document"
	"junction/state/value"
)

// contracts reads what the offers of each capability are held to.
func contracts(n *document.Node) map[string]router.Contract {
	all := map[string]router.Contract{}
	for _, e := range n.Mapping().Entries() {
		name(e.At, "capability", e.Key)
		m := e.Node.Mapping("input", "output")
		all[e.Key] = router.Contract{
			Capability: e.Key,
			Input:      schema(m.Get("input")),
			Output:     schema(m.Get("output")),
		}
	}
	return all
}

// schema returns a JSON Schema that compiles; nil for none.
func schema(n *document.Node) []byte {
	if n == nil {
		return nil
	}
	if n.Kind != document.Map && n.Kind != document.Boolean {
		n.Fault("such as {type: object, required: [code]}", "a JSON Schema is expected here, not %s", n.Kind)
		return nil
	}
	data, err := value.Encode(n.Value())
	if err != nil {
		n.Fault("", "%v", err)
		return nil
	}
	if err := compile(data); err != nil {
		explain(n, err)
		return nil
	}
	return data
}

const schemaURL = "contract.json"

// sealed keeps the compiler from reading files or the network for a $ref.
type sealed struct{}

func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not read: write the schema here, under $defs", url)
}

func compile(data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return err
	}
	_, err = c.Compile(schemaURL)
	return err
}

// explain records what is wrong with a schema, each fault where it stands. A
// schema's own schema offers alternatives, so one place may fail in several ways.
func explain(n *document.Node, err error) {
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.SchemaValidationError
	var root *jsonschema.ValidationError
	switch {
	case errors.As(err, &load):
		n.Fault("", "not a JSON Schema that can be used: %v", load.Err)
		return
	case !errors.As(err, &invalid) || !errors.As(invalid.Err, &root):
		n.Fault("", "not a JSON Schema: %v", err)
		return
	}
	english := message.NewPrinter(language.English)
	var places []*document.Node
	ways := map[*document.Node][]string{}
	var collect func(*jsonschema.ValidationError)
	collect = func(v *jsonschema.ValidationError) {
		for _, c := range v.Causes {
			collect(c)
		}
		if len(v.Causes) == 0 {
			at := walk(n, v.InstanceLocation)
			if ways[at] == nil {
				places = append(places, at)
			}
			ways[at] = append(ways[at], v.ErrorKind.LocalizedString(english))
		}
	}
	collect(root)
	for _, at := range places {
		all := ways[at]
		slices.Sort(all)
		at.Fault("", "not a JSON Schema: %s", strings.Join(slices.Compact(all), "; or "))
	}
}

// walk follows a path into n as far as it goes.
func walk(n *document.Node, path []string) *document.Node {
	for _, step := range path {
		var next *document.Node
		switch n.Kind {
		case document.Map:
			next = n.Mapping().Get(step)
		case document.List:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.List()) {
				next = n.List()[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
