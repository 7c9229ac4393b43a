package syntax

// kind is what a token is.
type kind int

const (
	eof kind = iota
	newline
	indent
	dedent
	name
	keyword
	number
	text // a string
	operator
)

// token is one word of a program.
type token struct {
	kind         kind
	text         string
	line, column int
	str          *stringToken // of text
}

// stringToken is what the parser needs to know of a string.
type stringToken struct {
	bytes     bool
	formatted bool      // f or t prefix
	template  bool      // t prefix
	fields    [][]token // expressions of the replacement fields, each closed by eof
}

var keywords = map[string]bool{
	"False": true, "None": true, "True": true, "and": true, "as": true, "assert": true,
	"async": true, "await": true, "break": true, "class": true, "continue": true,
	"def": true, "del": true, "elif": true, "else": true, "except": true, "finally": true,
	"for": true, "from": true, "global": true, "if": true, "import": true, "in": true,
	"is": true, "lambda": true, "nonlocal": true, "not": true, "or": true, "pass": true,
	"raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true,
}

// operators by length, longest first: the longest that fits is taken.
var operators = [...][]string{
	{"**=", "//=", ">>=", "<<=", "..."},
	{"!=", "%=", "&=", "**", "*=", "+=", "-=", "->", "//", "/=", ":=", "<<", "<=", "==", ">=", ">>", "@=", "^=", "|="},
	{"%", "&", "(", ")", "*", "+", ",", "-", ".", "/", ":", ";", "<", "=", ">", "@", "[", "]", "^", "{", "|", "}", "~"},
}

// describe names a token for a message.
func (t token) describe() string {
	switch t.kind {
	case eof:
		return "the end of the file"
	case newline:
		return "the end of the line"
	case indent:
		return "an indent"
	case dedent:
		return "the end of the block"
	case text:
		return "a string"
	}
	return "'" + t.text + "'"
}
