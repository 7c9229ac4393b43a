package syntax

import (
	"strings"
	"testing"
)

// wrong are programs with a fault of syntax at a known place.
var wrong = []struct {
	name, source string
	line, column int
	message      string
}{
	{"empty parameter", "def f(:):\n    pass\n", 1, 7, "expected a parameter"},
	{"parameters never closed", "def f(:\n    pass\n", 1, 6, "'(' was never closed"},
	{"the first of two faults", "x = = 1\ny = (\n", 1, 5, "unexpected '='"},
	{"missing colon", "x = 1\nif x\n    y\n", 2, 5, "expected ':'"},
	{"assignment in a condition", "if x = 1:\n    y\n", 1, 6, "Maybe you meant '=='"},
	{"missing block", "if x:\ny = 1\n", 2, 1, "expected an indented block after 'if' statement on line 1"},
	{"missing block at the end", "def f():\n", 2, 1, "expected an indented block"},
	{"unexpected indent", "x = 1\n  y = 2\n", 2, 3, "unexpected indent"},
	{"unindent to nowhere", "if x:\n    y\n  z\n", 3, 3, "unindent does not match"},
	{"tabs against spaces", "if x:\n        y\n\tz\n", 3, 1, "inconsistent use of tabs"},
	{"open bracket", "x = (1,\n     2\ny = 3\n", 1, 5, "'(' was never closed"},
	{"never closed", "f(a, [b\n", 1, 6, "'[' was never closed"},
	{"wrong bracket", "x = (1, 2]\n", 1, 10, "does not match opening parenthesis '('"},
	{"unmatched bracket", "x = 1)\n", 1, 6, "unmatched ')'"},
	{"unterminated string", "x = 'abc\ny = 1\n", 1, 5, "unterminated string literal"},
	{"unterminated text", "x = 1\ny = '''abc\n\n", 2, 5, "unterminated triple-quoted"},
	{"missing comma", "f(a b)\n", 1, 5, "a comma is missing"},
	{"print of Python 2", "print 'a'\n", 1, 7, "unexpected a string"},
	{"except of Python 2", "try:\n    x\nexcept A, b, :\n    y\nz = = 1\n", 5, 5, "unexpected '='"},
	{"lone try", "try:\n    x\ny\n", 3, 1, "expected 'except' or 'finally'"},
	{"bare except first", "try: x\nexcept: y\nexcept A: z\n", 2, 1, "must be last"},
	{"assign to a call", "f() = 1\n", 1, 1, "cannot assign to function call"},
	{"assign to a literal", "1 = x\n", 1, 1, "cannot assign to literal"},
	{"assign to a comparison", "a = b < c = d\n", 1, 5, "cannot assign to comparison"},
	{"assign to None", "None = 1\n", 1, 1, "cannot assign to None"},
	{"augment a tuple", "a, b += 1\n", 1, 1, "illegal expression for augmented assignment"},
	{"annotate a list", "[a]: int\n", 1, 1, "illegal target for annotation"},
	{"delete a literal", "del 1\n", 1, 5, "cannot delete literal"},
	{"loop over a call", "for f() in x: pass\n", 1, 5, "cannot assign to function call"},
	{"return outside", "return 1\n", 1, 1, "'return' outside function"},
	{"return in a class", "def f():\n    class A:\n        return\n", 3, 9, "'return' outside function"},
	{"yield outside", "x = yield 1\n", 1, 5, "'yield' outside function"},
	{"break outside", "if x: break\n", 1, 7, "'break' outside loop"},
	{"continue in a function in a loop", "while x:\n    def f():\n        continue\n", 3, 9, "'continue' outside loop"},
	{"nonlocal outside", "nonlocal x\n", 1, 1, "nonlocal declaration"},
	{"default before none", "def f(a=1, b): pass\n", 1, 12, "parameter without a default"},
	{"parameter twice", "def f(a, *, a): pass\n", 1, 13, "duplicate argument 'a'"},
	{"nothing after the star", "def f(*): pass\n", 1, 8, "must follow bare *"},
	{"two slashes", "def f(a, /, b, /): pass\n", 1, 16, "only once"},
	{"after the double star", "def f(**a, b): pass\n", 1, 12, "cannot follow var-keyword"},
	{"positional after keyword", "f(a=1, b)\n", 1, 8, "positional argument follows keyword argument"},
	{"keyword twice", "f(a=1, a=2)\n", 1, 8, "keyword argument repeated: a"},
	{"expression as keyword", "f(a.b=1)\n", 1, 3, "perhaps you meant"},
	{"octal of Python 2", "x = 0777\n", 1, 5, "leading zeros"},
	{"word after a number", "x = 1abc\n", 1, 5, "invalid number"},
	{"double underscore", "x = 1__0\n", 1, 5, "invalid number"},
	{"digit of another base", "x = 0b12\n", 1, 5, "invalid number"},
	{"odd character", "x = $y\n", 1, 5, "invalid character '$'"},
	{"curly quotes", "x = “a”\n", 1, 5, "invalid character '“'"},
	{"after a backslash", "x = 1 \\ 2\n", 1, 8, "after line continuation"},
	{"f-string left open", "x = f'{a'\n", 1, 9, "unterminated"},
	{"f-string closed twice", "x = f'a}'\n", 1, 8, "single '}'"},
	{"f-string empty", "x = f'{}'\n", 1, 8, "valid expression is required"},
	{"f-string fault inside", "x = f'{a b}'\n", 1, 10, "unexpected 'b'"},
	{"f-string conversion", "x = f'{a!x}'\n", 1, 10, "invalid conversion"},
	{"bytes beside text", "x = 'a' b'b'\n", 1, 5, "cannot mix bytes"},
	{"keyword as a name", "class = 1\n", 1, 7, "expected a name"},
	{"dict and set", "x = {1: 2, 3}\n", 1, 13, "':' expected after dictionary key"},
	{"star alone", "x = (*a)\n", 1, 6, "cannot use starred expression here"},
	{"decorator on nothing", "@a\nx = 1\n", 2, 1, "belongs to a function or a class"},
	{"trailing comma of an import", "from a import b,\n", 1, 17, "trailing comma"},
	{"pattern", "match x:\n    case a + b: pass\n", 2, 12, "expected ':'"},
	{"else without if", "else: pass\n", 1, 1, "unexpected 'else'"},
	{"two statements", "x = 1 y = 2\n", 1, 7, "unexpected 'y'"},
}

func TestWrongProgramsHaveTheirFaultAtItsPlace(t *testing.T) {
	for _, tt := range wrong {
		t.Run(tt.name, func(t *testing.T) {
			fs := Check(tt.source)
			if len(fs) == 0 {
				t.Fatal("no fault")
			}
			if f := fs[0]; f.Rule != Syntax || f.Line != tt.line || f.Column != tt.column || !strings.Contains(f.Message, tt.message) {
				t.Errorf("%v, want %d:%d: …%s…", f, tt.line, tt.column, tt.message)
			}
		})
	}
}

func TestHabitsAreNoted(t *testing.T) {
	tests := []struct {
		name, source, rule string
		line, column       int
	}{
		{"list", "def f(a, b=[1]): pass\n", MutableDefault, 1, 12},
		{"dict of a lambda", "f = lambda a={}: a\n", MutableDefault, 1, 14},
		{"comprehension", "def f(*, a=[x for x in y]): pass\n", MutableDefault, 1, 12},
		{"bare except", "try: x\nexcept: y\n", BareExcept, 2, 1},
		{"equals None", "if a == None: pass\n", CompareNone, 1, 6},
		{"None unequal", "x = None != a\n", CompareNone, 1, 10},
		{"is a number", "if a is 1: pass\n", CompareLiteral, 1, 6},
		{"is not a string", "if a is not 'b': pass\n", CompareLiteral, 1, 6},
		{"no placeholder", "x = 'a' f'b'\n", EmptyFString, 1, 5},
		{"habit in a field", "f'{a == None}'\n", CompareNone, 1, 6},
		{"assert on a tuple", "assert (a, 'message')\n", AssertTuple, 1, 1},
		{"raise", "raise NotImplemented('x')\n", RaiseNotImpl, 1, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := Check(tt.source)
			if len(fs) != 1 || fs[0].Rule != tt.rule || fs[0].Line != tt.line || fs[0].Column != tt.column {
				t.Errorf("%+v, want %s at %d:%d", fs, tt.rule, tt.line, tt.column)
			}
		})
	}
}

func TestSoundHabitsAreNotNoted(t *testing.T) {
	for _, source := range []string{
		"def f(a=None, b=(), c=frozenset(), d='x'): pass\n",
		"try: x\nexcept Exception: y\n",
		"a is None\na is not None\na is True\na is ...\n",
		"x = f'{a}' f'b'\nx = t'a'\n",
		"assert a, (b, c)\nassert (a, b), c\nassert ()\n",
		"raise NotImplementedError\nraise NotImplementedError(x) from y\n",
		"with (a == b): pass\nwith (a as b): pass\n",
	} {
		if fs := Check(source); len(fs) != 0 {
			t.Errorf("%q: %v", source, fs)
		}
	}
}
