package syntax

import (
	"strings"
	"testing"
)

// sound are programs that some Python from 3.6 to 3.14 accepts.
var sound = map[string]string{
	"nothing":                    "",
	"a comment without line end": "# only this",
	"byte order mark":            "\ufeffx = 1\n",
	"old line ends":              "x = 1\rif x:\r    y = 2\r",
	"form feed":                  "x = 1\n\f\ny = 2\n",
	"tabs":                       "if x:\n\ty = 1\n\tif y:\n\t\tz = 2\n",
	"continuation":               "x = 1 + \\\n    2\nassert x, \\\n  y\n",
	"lines in brackets":          "f(1,\n  # why\n\n2,\n)\n",
	"semicolons":                 "x = 1; y = 2;\nif x: pass; pass\n",
	"numbers":                    "x = 0xFF_ff, 0o17, 0b_1, 1_000.5e-10, .5, 5., 1e5j, 00, 0_0, 012.5, 1J\n",
	"number before keyword":      "x = 1if y else 2\nz = 0x1for x in y\n",
	"strings":                    "x = 'a' \"b\" r'\\n' u'c' R'\\d' .x\ny = b'' rb'\\n' bR'a'\n",
	"triple quotes":              "x = '''a\n'b' ''c\\''''\ny = \"\"\"\"quoted\\\"\"\"\"\n",
	"escaped line end":           "x = 'a\\\nb'\n",
	"f-strings":                  "f'{a!r:>{w}} {b=} {c = !s} {{}} {d:%H:%M} {e[\"k\"]} {f\"{g}\"} \\N{BULLET} {h:{\"{\"}>10}'\n",
	"f-string operators":         "f'{a != b} {a == b} {(x:=1)} {x:=10} {a <= b} {{x}} {lambda_}{(lambda: 1)()}'\n",
	"f-string of 3.12":           "f'{a['b']} {'''\n''' # why\n}'\n",
	"f-string raw":               "rf'\\{x} \\d{3}'\n",
	"t-string":                   "t'{x!r} and {y:>3}'\n",
	"unicode names":              "größe = 1\n变量 = größe\nℌ = 2\n",
	"decorators":                 "@a.b(1)\n@c[0]\n@(lambda f: f)\nasync def f(): pass\n",
	"parameters":                 "def f(a, b=1, /, c=2, *args: *Ts, d, e=3, **kw) -> int: ...\ndef g(*, a, b=1): ...\ndef h(a, /): ...\nlambda a, /, b=1, *c, d, **e: (yield)\n",
	"type parameters":            "def f[T: int = str, *Ts = *tuple[int], **P](x: T) -> T: ...\nclass A[T](B, metaclass=C): ...\ntype X[T] = list[T]\ntype = 1\ntype.x\nprint(type(x))\n",
	"calls":                      "f(*a, *b, c=1, *d, **e, g=2)\nf(x for x in y)\nf(a, *b, c := 1)\nf(a)(b)[c].d\nf(**a, b=1, **c)\n",
	"subscripts":                 "a[1:2, ::3, ..., :, *b, c := 1]\na[:, None]\na[b:c:d] = e\n",
	"comprehensions":             "[x async for x, *y in z if x if y for w in v]\n{k: v for k, v in d}\n{x for x in y}\n(x if x else y for x in lambda_ or z)\n",
	"displays":                   "{**a, 'b': 1, **c,}\n{*a, 1}\n[*a, *b]\n(*a, b)\n{}\n()\n(a,)\n",
	"assignments":                "a = b = *c, d = e\n(a) = 1\n[a, *b] = c\n(a, b), c = d\na.b, c[d] = e\nx: int\nx: int = 1, 2\n(x): int = 1\na.b: c\nx += yield_\nx @= 1\n",
	"operators":                  "not not a or b and not c\na < b <= c is not d not in e\n-a ** -b ** +~c @ d // e\na if b else c if d else e\n",
	"yield and return":           "def f():\n    x = yield\n    x += yield 1\n    yield *a, b\n    yield from g\n    return *a, b\n    await_ = (yield)\n    return\n",
	"async":                      "async def f():\n    async with a as b, c: pass\n    async for x in y: pass\n    else: pass\n    return await g() ** 2, [await x for x in y]\n",
	"with":                       "with a: pass\nwith (a): pass\nwith (a, b): pass\nwith (a as b, c as d,): pass\nwith (a, b) as c: pass\nwith (yield_): pass\nwith a as (b, *c), d as e.f: pass\nwith (a)(b) as c: pass\nwith (a).b: pass\nwith (a or b): pass\n",
	"try":                        "try: pass\nexcept A: pass\nexcept (B, C) as d: pass\nexcept D, E: pass\nexcept: pass\nelse: pass\nfinally: pass\ntry: pass\nfinally: pass\ntry: pass\nexcept* A as b: pass\nexcept *C: pass\n",
	"loops":                      "for x, in y: pass\nfor *x, y in *a, b: continue\nelse: pass\nwhile x := f():\n    break\nelse: pass\nfor x[0] in y: pass\nfor (x.y) in z: pass\n",
	"imports":                    "import a.b.c as d, e\nfrom . import x\nfrom ...a.b import (c as d, e,)\nfrom .... import f\nfrom a import *\n",
	"match":                      "match x, *y:\n    case [1, -2.5+3j, *_] | (a, b): pass\n    case {'k': v, **rest} if v > 1: pass\n    case A.B(c, d=E(f)) as g: pass\n    case None | True | 'a' 'b' | b'c': pass\n    case (a): pass\n    case a, *b: pass\n    case _: pass\n",
	"match as a name":            "match = 1\nmatch.x\nmatch(x)\nmatch[x]\nmatch * y\nmatch, case = 1, 2\nmatch: int = 3\nprint(match)\nmatch -1\nmatch (x), y\n",
	"case as a name":             "match x:\n    case case if case:\n        case = 1\n        match case:\n            case 1: pass\n",
	"match on a bracket":         "match (x):\n    case 1: pass\nmatch [x]:\n    case 1: pass\nmatch -x:\n    case 1: pass\nmatch x.y(z)[0]:\n    case 1: pass\n",
	"statements":                 "del a, b.c, d[0], (e, [f])\nraise\nraise A from b\nassert a, b\nglobal_ = 1\ndef f():\n    global x, y\n    class A:\n        nonlocal_ = 1\n    def g():\n        nonlocal z\n        class B:\n            nonlocal z\n",
	"class":                      "class A: x = 1; y: int\nclass B(): pass\nclass C(A, *b, m=d, **e):\n    'doc'\n    def f(self): return super().f()\n",
	"lambda":                     "lambda: 1\nlambda *a, **k: (a, k)\nf = lambda x=1, *, y: lambda: x\nd = {k: lambda x: y for k in z}\n",
	"dedent at the end":          "if x:\n    if y:\n        z",
	"comment between blocks":     "if x:\n    y\n  # odd\n# why\n    z\nelse:\n    w\n",
	"walrus":                     "(x := 1)\nif (n := len(a)) > 10: pass\n[y := f(x), y**2]\n{x := 1, 2}\nf(x := 1)\n",
	"annotations of star":        "def f(*args: *tuple[int]): ...\n",
	"trailing spaces":            "x = 1   \n   \n\t\ny = 2\n",
}

func TestSoundProgramsHaveNoFault(t *testing.T) {
	for name, source := range sound {
		t.Run(name, func(t *testing.T) {
			for _, f := range Check(source) {
				if f.Rule == Syntax || f.Rule == TooDeep {
					t.Errorf("%v\n%s", f, source)
				}
			}
		})
	}
}

func TestDeepNestingIsNoFaultAndNoCrash(t *testing.T) {
	for name, source := range map[string]string{
		"brackets":  strings.Repeat("(", 100_000) + strings.Repeat(")", 100_000),
		"lists":     strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"minus":     "x = " + strings.Repeat("-", 100_000) + "1\n",
		"lambdas":   "x = " + strings.Repeat("lambda: ", 100_000) + "1\n",
		"f-strings": strings.Repeat("f'{", 500) + strings.Repeat("}'", 500),
	} {
		t.Run(name, func(t *testing.T) {
			if fs := Check(source); len(fs) != 1 || fs[0].Rule != TooDeep {
				t.Errorf("faults %v, want one that says it is too deep", fs)
			}
		})
	}
	long := "x = " + strings.Repeat("not ", 100_000) + "1" + strings.Repeat(" + 1", 100_000) + "\n"
	if fs := Check(long); len(fs) != 0 {
		t.Errorf("a long expression that is not deep: %v", fs)
	}
}

func FuzzCheck(f *testing.F) {
	for _, source := range sound {
		f.Add(source)
	}
	for _, w := range wrong {
		f.Add(w.source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		lines := strings.Count(source, "\n") + strings.Count(source, "\r") + 2
		for _, fault := range Check(source) {
			if fault.Line < 1 || fault.Line > lines || fault.Column < 1 || fault.Message == "" || fault.Rule == "" {
				t.Errorf("%q: fault %+v", source, fault)
			}
		}
	})
}
