package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a file.
type Fault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0: the file as a whole
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Path    string `json:"path,omitempty"`   // such as nodes.review.call
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to try
}

// Error prints the fault as file:line:col: message (hint).
func (f Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ":")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", f.Line, f.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(f.Message)
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

// Faults are all faults of a file, as an error.
type Faults []Fault

// Error prints each fault on a line of its own.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort orders faults by position, then by message.
func (fs Faults) Sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
}

// Add records a fault. The same one again, as an alias makes it, is dropped.
func (d *Document) Add(f Fault) {
	f.File = d.File
	switch key := (Fault{Line: f.Line, Column: f.Column, Message: f.Message}); {
	case d.seen[key]:
		return
	case len(d.faults) == MaxFaults:
		d.dropped++
		return
	default:
		d.seen[key] = true
	}
	d.faults = append(d.faults, f)
}

// Err returns the faults recorded so far, in order of position, as Faults, or
// nil.
func (d *Document) Err() error {
	if len(d.faults) == 0 {
		return nil
	}
	fs := slices.Clone(d.faults)
	fs.Sort()
	if d.dropped > 0 {
		fs = append(fs, Fault{File: d.File, Message: fmt.Sprintf("%d more faults are not shown", d.dropped)})
	}
	return fs
}
