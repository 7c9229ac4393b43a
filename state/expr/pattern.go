package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/expr-lang/expr/ast"
)

// maxPattern bounds the program a regular expression compiles to: short ones
// with nested counts grow large.
const maxPattern = 2_000

// pattern is a compiled regular expression.
type pattern struct {
	re   *regexp.Regexp
	size int // instructions of its program
}

func newPattern(text string) (pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return pattern{}, err
	}
	if len(prog.Inst) > maxPattern {
		return pattern{}, fmt.Errorf("the pattern is too large: %d steps, at most %d", len(prog.Inst), maxPattern)
	}
	re, err := regexp.Compile(text)
	return pattern{re, len(prog.Inst)}, err
}

// pattern returns the pattern a node stands for: the one compiled with the
// expression where it is written out, else one made of text.
func (e *expression) pattern(n ast.Node, text string) (pattern, error) {
	if s, ok := n.(*ast.StringNode); ok {
		if p, ok := e.patterns[s]; ok {
			return p, nil
		}
	}
	return newPattern(text)
}
