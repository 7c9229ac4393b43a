package review

import (
	"cmp"
	"slices"

	"junction/router"
	"junction/router/mcp"
)

// Level is how much a finding matters.
type Level string

const (
	Risk Level = "risk" // a call can run twice, be lost, or go to the wrong place
	Note Level = "note" // it costs a person's time, or a chance to notice a fault
)

// Finding is something to change about a server or the way it is used.
type Finding struct {
	Level Level  `json:"level"`
	Rule  string `json:"rule"`           // stable name
	Tool  string `json:"tool,omitempty"` // "": the server as a whole
	Says  string `json:"says"`           // what is wrong
	Then  string `json:"then"`           // what follows from it
	Fix   string `json:"fix"`
	Paste string `json:"paste,omitempty"` // YAML for the servers file; keys beside those shown stay as they are
}

// rule looks at one tool, or at the server where the tool is nil.
type rule struct {
	name  string
	level Level
	look  func(l *look, t *Tool) *Finding // nil: nothing found
}

// look is what rules look at.
type look struct {
	in     *router.Inspection
	rv     *Review
	clocks clocks
	strays map[mcp.Stray]uint64
	hints  bool // the server says of some tool that it only reads, so it means what it says of others
}

// findings applies the rules: risks before notes, the server's before its tools',
// these in their order.
func findings(l *look) []Finding {
	rv := l.rv
	for _, t := range rv.Tools {
		l.hints = l.hints || t.reads()
	}
	found := []Finding{} // none is a list, too
	take := func(r rule, t *Tool) {
		if f := r.look(l, t); f != nil {
			f.Rule = r.name
			f.Level = cmp.Or(f.Level, r.level)
			if t != nil {
				f.Tool = t.Name
			}
			found = append(found, *f)
		}
	}
	for _, r := range serverRules {
		take(r, nil)
	}
	for i := range rv.Tools {
		for _, r := range toolRules {
			take(r, &rv.Tools[i])
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Level, a.Level) })
	return found
}

// reads reports that the server says that the tool only reads.
func (t *Tool) reads() bool {
	return t.terms.Tool != nil && t.terms.Tool.ReadOnly != nil && *t.terms.Tool.ReadOnly
}

// writes reports that the server says that the tool does not only read.
func (t *Tool) writes() bool {
	return t.terms.Tool != nil && t.terms.Tool.ReadOnly != nil && !*t.terms.Tool.ReadOnly
}

// offered reports that a capability is bound to the tool.
func (t *Tool) offered() bool { return t.Capability != "" }
