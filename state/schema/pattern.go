package schema

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// matchMost bounds the steps of one match: the length of the text times the
// size of the pattern's program. A match cannot be broken off.
const matchMost = 1 << 28

// pattern is a regular expression of Go's, which takes linear time.
type pattern struct {
	*regexp.Regexp
	size int
}

// MatchString reports a match; of what would take seconds it takes it on trust.
func (p pattern) MatchString(text string) bool {
	return len(text) > matchMost/p.size || p.Regexp.MatchString(text)
}

// readPattern leaves a pattern that Go cannot read (a look-ahead) to the server.
func readPattern(text string) (jsonschema.Regexp, error) {
	if p, err := compilePattern(text); err == nil {
		return p, nil
	}
	return unread(text), nil
}

func compilePattern(text string) (pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return pattern{}, err
	}
	return pattern{re, len(program.Inst)}, nil
}

type unread string

func (unread) MatchString(string) bool { return true }
func (u unread) String() string        { return string(u) }
