// Package document reads YAML files for which every fault is to be reported at
// once, each with its file, line, column and a suggestion.
//
// [Parse] gives a tree of nodes that know where they stand. The accessors of
// [Node] and [Mapping] return what they could make of a node and record a fault
// where that failed; they take nil nodes, so a decoder reads on after a fault
// and need not look at each one:
//
//	doc, err := document.Parse(file, data)
//	if err != nil {
//		return nil, err // not YAML, or beyond a bound
//	}
//	top := doc.Root.Mapping("name", "timeout")
//	name := top.Require("name").Text()
//	timeout := top.Get("timeout").Duration()
//	return …, doc.Err() // every fault, in order of position
//
// Reading is bounded: [MaxBytes], [MaxDepth], [MaxNodes] after aliases have been
// expanded, [MaxFaults]. A Document is not safe for concurrent use.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of a file.
const (
	MaxBytes  = 1 << 20 // of text
	MaxDepth  = 64      // of nested mappings and lists
	MaxNodes  = 100_000 // with each alias counted as what it stands for
	MaxFaults = 200     // reported; what comes after is counted
)

// Document is one YAML document and the faults found in it so far.
type Document struct {
	File string
	Root *Node

	lines   [][]byte
	faults  Faults
	seen    map[Fault]bool
	dropped int
	nodes   int
	full    bool // MaxNodes was reached and reported
	open    map[*yaml.Node]bool
}

// Parse reads data as one YAML document. What keeps it from being read at all
// is returned as Faults; duplicate keys, tags that mean nothing here and the
// like are faults of the document, to be found in [Document.Err].
func Parse(file string, data []byte) (*Document, error) {
	d := &Document{File: file, seen: map[Fault]bool{}, open: map[*yaml.Node]bool{}}
	if len(data) > MaxBytes {
		return nil, Faults{{File: file, Message: fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), MaxBytes),
			Hint: "keep data out of it and pass it as input"}}
	}
	if at := invalidUTF8(data); at >= 0 {
		line := bytes.Count(data[:at], []byte("\n")) + 1
		return nil, Faults{{File: file, Line: line, Column: at - bytes.LastIndexByte(data[:at], '\n'), Message: "the text is not UTF-8"}}
	}
	d.lines = bytes.Split(data, []byte("\n"))
	root, err := load(data)
	if err != nil {
		return nil, Faults{d.syntax(err)}
	}
	d.Root = d.build(root, "", 0)
	return d, nil
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

var errSecond = errors.New("a second document")

// load reads the only document of data; an empty one is nil.
func load(data []byte) (*yaml.Node, error) {
	l, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var first, second yaml.Node
	if err := l.Load(&first); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := l.Load(&second); err == nil {
		return &second, errSecond
	} else if err != io.EOF {
		return nil, err
	}
	if first.Kind == yaml.DocumentNode && len(first.Content) == 1 {
		return first.Content[0], nil
	}
	return &first, nil
}

// syntax turns an error of the YAML library into a fault.
func (d *Document) syntax(err error) Fault {
	f := Fault{File: d.File}
	if errors.Is(err, errSecond) {
		f.Message, f.Hint = "the file holds more than one YAML document", "remove what follows the second ---"
		return f
	}
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		f.Message = "not YAML: " + err.Error()
		return f
	}
	f.Line, f.Column, f.Message = le.Mark.Line, le.Mark.Column, "not YAML: "+le.Message
	if le.ContextMsg != "" {
		f.Message += " " + le.ContextMsg
	}
	f.Hint = d.syntaxHint(f.Line)
	return f
}

// syntaxHint says what is most often wrong in a line that is not YAML.
func (d *Document) syntaxHint(line int) string {
	if line < 1 || line > len(d.lines) {
		return ""
	}
	text := d.lines[line-1]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	switch {
	case bytes.IndexByte(indent, '\t') >= 0:
		return "indent with spaces, not with tabs"
	case bytes.Contains(text, []byte("->")):
		return "put quotes around an edge that begins with a bracket"
	case bytes.Contains(text, []byte("${")):
		return "put quotes around text that holds ${…}"
	case bytes.Count(text, []byte(": ")) > 1:
		return "put quotes around text that holds a colon and a space"
	}
	return ""
}
