package workflow

import (
	"fmt"
	"os"
	"slices"

	"junction/graph"
	"junction/state"
	"junction/state/document"
)

// Workflow is a checked workflow file. It is immutable and safe for concurrent
// use.
type Workflow struct {
	Name        string
	Description string
	File        string    // as it was given to Parse; messages name it
	Text        []byte    // the file; a thread stores it and is resumed with it
	Hash        string    // state.Hash of Text: the graph's version
	Channels    []Channel // the state, in the file's order; a route's own at the end

	limit  int
	nodes  []*node
	edges  []graph.Edge
	routes []*route
}

// Use is what one node asks of servers, as far as the file says it: text with
// expressions in it is "".
type Use struct {
	Node                     string
	Capability, Server, Tool string
	Route                    bool // decides, does not call
	Line, Column             int
}

// Load reads and parses a file. What is wrong with its content is
// document.Faults.
func Load(path string) (*Workflow, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// read refuses a file that is too large before it is in memory.
func read(path string) ([]byte, error) {
	if path == "-" {
		return nil, document.Faults{{File: path, Message: "a workflow is read from a file, beside which its servers file stands", Hint: "/dev/stdin with --config reads standard input"}}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("workflow file: %w", err)
	}
	if info.IsDir() {
		return nil, document.Faults{{File: path, Message: "it is a directory: name the file in it"}}
	}
	if info.Size() > document.MaxBytes {
		return nil, document.Faults{{File: path, Message: fmt.Sprintf("it has %d bytes; a workflow file has at most %d bytes", info.Size(), document.MaxBytes)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("workflow file: %w", err)
	}
	return data, nil
}

// Parse reads a workflow file's text. Its error is document.Faults: everything
// that is wrong, in order of position.
func Parse(file string, data []byte) (*Workflow, error) {
	doc, err := document.Parse(file, data)
	if err != nil {
		return nil, err
	}
	w := &Workflow{File: file, Text: slices.Clone(data), Hash: state.Hash(data)}
	p := &parser{doc: doc, w: w, places: map[string]*document.Node{}}
	p.file()
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return w, nil
}

// Uses lists what the nodes ask of servers, in the file's order.
func (w *Workflow) Uses() []Use {
	var uses []Use
	for _, n := range w.nodes {
		if n.hop == nil {
			continue
		}
		uses = append(uses, Use{
			Node: n.name, Route: n.hop.routeOnly, Line: n.hop.at.Line, Column: n.hop.at.Column,
			Capability: n.hop.capability.static(), Server: n.hop.server.static(), Tool: n.hop.tool.static(),
		})
	}
	return uses
}

// parser decodes one file. It records faults in doc and goes on.
type parser struct {
	doc    *document.Document
	w      *Workflow
	places map[string]*document.Node // where the parts of the Spec stand, by graph.Fault.Place

	channels  []string          // names
	types     map[string]string // of channels, in the words of package expr
	nodeNames []string
	badEdges  bool // what can be reached cannot be told
}

func (p *parser) file() {
	top := p.doc.Root.Mapping("workflow", "description", "state", "nodes", "edges", "recursion_limit")
	if top == nil {
		return
	}
	p.w.Name = top.Require("workflow").Word()
	p.w.Description = top.Get("description").Text()
	p.w.limit = int(top.Get("recursion_limit").Int(1, 1_000_000))
	nodes := top.Require("nodes").Mapping()
	p.state(top.Get("state"), nodes)
	for _, e := range nodes.Entries() {
		if goodNodeName(e.At, e.Key) {
			p.nodeNames = append(p.nodeNames, e.Key)
		}
	}
	if nodes != nil && len(nodes.Entries()) == 0 {
		nodes.Node().Fault("", "a workflow needs at least one node")
	}
	for _, e := range nodes.Entries() {
		p.places[fmt.Sprintf("node %q", e.Key)] = e.At
		if n := p.node(e); n != nil {
			p.w.nodes = append(p.w.nodes, n)
		}
	}
	edges := top.Require("edges")
	p.places["start"] = edges
	p.badEdges = edges == nil || edges.Kind != document.List || nodes == nil
	for _, e := range edges.List() {
		p.edge(e)
	}
	p.check(top.Node())
}

// check compiles the Spec and maps its faults to where their subjects stand.
// Unknown names have been reported already, with suggestions; and when edges
// could not be read, what they lead to cannot be told.
func (p *parser) check(top *document.Node) {
	mine := p.doc.Err() != nil
	p.deadEnds()
	_, err := graph.Compile(p.w.Spec(nil))
	spec, ok := err.(*graph.SpecError)
	if err != nil && !ok {
		top.Fault("", "%v", err)
	}
	if spec == nil {
		return
	}
	for _, f := range spec.Faults {
		ways := f.Kind == graph.FaultUnreachable || f.Kind == graph.FaultNoWayOn
		if ways && p.badEdges || !ways && mine && f.Kind != graph.FaultJoin {
			continue
		}
		at := p.places[f.Place]
		if at == nil {
			at = top
		}
		hint := ""
		switch f.Kind {
		case graph.FaultUnreachable:
			hint = "add an edge, such as: start -> " + f.Name
		case graph.FaultNoWayOn:
			hint = "such as: " + f.Name + " -> end"
		}
		at.Fault(hint, "%s", f.String())
	}
}

// deadEnds reports nodes that only an error leads on from: the graph would take
// that for a way on.
func (p *parser) deadEnds() {
	leaves := map[string]bool{}
	for _, e := range p.w.edges {
		for _, from := range e.From {
			leaves[from] = true
		}
	}
	for _, r := range p.w.routes {
		leaves[r.from] = true
	}
	for _, n := range p.w.nodes {
		if !p.badEdges && !leaves[n.name] && n.onError.leadsOn() {
			n.at.Fault("such as: "+n.name+" -> end", "only its error leads on from node %q; add an edge for its success", n.name)
		}
	}
}
