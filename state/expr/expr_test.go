package expr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/state/expr"
)

type obj = map[string]any

var vars = obj{
	"repo": ".", "big": int64(9007199254740993), "n": int64(7), "half": 0.5, "none": nil, "yes": true,
	"text": "héllo wörld", "digits": "42", "files": []any{obj{"path": "b.go", "size": int64(2)}, obj{"path": "a.go", "size": int64(1)}},
	"findings": []any{obj{"severity": "high", "line": int64(3)}, obj{"severity": "low", "line": int64(9)}, obj{"severity": "high"}},
	"result":   obj{"issues": []any{"x"}, "nested": obj{"deep": int64(1)}, "null": nil},
	"nums":     []any{int64(3), int64(1), 2.5, int64(3)}, "empty": []any{}, "map": obj{"z": int64(1), "a": int64(2), "m": int64(3)},
}

func names() []string {
	var all []string
	for n := range vars {
		all = append(all, n)
	}
	return all
}

func eval(t *testing.T, text string) (any, error) {
	t.Helper()
	tpl, err := expr.Compile(text, names()...)
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return tpl.Eval(t.Context(), vars)
}

func TestTemplates(t *testing.T) {
	cases := []struct {
		name, text string
		want       any
	}{
		{"no expression", "plain", "plain"},
		{"empty", "", ""},
		{"exactly one keeps its type", "${n}", int64(7)},
		{"a list stays a list", "${result.issues}", []any{"x"}},
		{"text around makes text", "n=${n}", "n=7"},
		{"space around makes text", " ${n}", " 7"},
		{"two expressions", "${repo}${n}", ".7"},
		{"others as JSON", "${result.issues} ${none} ${yes}", `["x"] null true`},
		{"literal", "$${n} costs $5 and $$", "${n} costs $5 and $$"},
		{"literal beside an expression", "$${n}=${n}", "${n}=7"},
		{"braces and quotes within", `${{a: {b: "}"}}.a.b + '}'}`, "}}"},
		{"line comment with a brace", "${1 // }\n}", int64(1)},
		{"block comment with a brace", "${/* } */ 1}", int64(1)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := eval(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	cases := []struct {
		text string
		want any
	}{
		{"big + 1", int64(9007199254740994)}, {"big == 9007199254740992", false}, {"big > 9007199254740992.0", true},
		{"7 / 2", 3.5}, {"6 / 2", int64(3)}, {"7 % 3", int64(1)}, {"-7 % 3", int64(-1)}, {"2 ** 62", int64(1) << 62}, {"2 ** -1", 0.5},
		{"half + half", int64(1)}, {"0.1 + 0.2 > 0.3", true}, {"1 < 1.5", true}, {"-1 < -0.5", true}, {"2 > 1.5", true}, {"1.0 == 1", true}, {"9007199254740993.0 == big", true}, {".5 + 1.", 1.5},
		{"not yes", false}, {"yes and n > 3", true}, {"yes || none.x", true}, {"n > 3 ? 'a' : 'b'", "a"}, {"if n > 9 {1} else {2}", int64(2)},
		{"let x = n * 2; x + 1", int64(15)}, {"1..4", []any{int64(1), int64(2), int64(3), int64(4)}}, {"3..1", []any{}},
		{"'a' + 'b'", "ab"}, {"'b' > 'a'", true}, {"text contains 'wör'", true}, {"repo matches '^[.]$'", true}, {"repo matches repo", true},
		{"text startsWith 'hé'", true}, {"text endsWith 'x'", false}, {"'a' in map", true}, {"3 in nums", true}, {"'q' not in map", true},
		{"files[0].path", "b.go"}, {"files[-1].path", "a.go"}, {"files[1:]", []any{obj{"path": "a.go", "size": int64(1)}}}, {"text[1:4]", "éll"},
		{"result['nested'].deep", int64(1)}, {"nums[:-1]", []any{int64(3), int64(1), 2.5}}, {"text[20:30]", ""},
		{"result?.gone", nil}, {"result.gone ?? 'd'", "d"}, {"result.gone.further ?? 'd'", "d"}, {"none?.x", nil}, {"none.x ?? 1", int64(1)},
		{"result?.gone.further", nil}, {"files[9] ?? 'd'", "d"}, {"files?.[9]", nil}, {"result.null ?? 'd'", "d"}, {"default(result.gone, 'd')", "d"},
		{"default(n, 'd')", int64(7)}, {"has(result, 'null')", true}, {"has(result, 'gone')", false}, {"has(result.gone, 'x')", false},
		{"has(files, 5)", false}, {"get(result, 'gone')", nil}, {"get(result, 'gone', 4)", int64(4)}, {"get(nums, -1)", int64(3)}, {"null == nil", true},
		{"result.nested == {deep: 1}", true}, {"[1, 2.0] == [1.0, 2]", true}, {"'1' == 1", false}, {"result == {}", false},
		{`count(findings, .severity == "high")`, int64(2)}, {`count(findings, .severity == "high") > 0`, true}, {"count([true, false])", int64(1)},
		{"count(findings, (.line ?? 0) > 3)", int64(1)}, {"count(findings, #?.line == 3)", int64(1)}, {"map(findings, get(#, 'line', 0))", []any{int64(3), int64(9), int64(0)}},
		{"all(nums, # > 0)", true}, {"any(nums, # > 2.9)", true}, {"none(nums, # > 5)", true}, {"one(nums, # == 1)", true},
		{"filter(nums, # == 3)", []any{int64(3), int64(3)}}, {"map(files, .path)", []any{"b.go", "a.go"}}, {"map(nums, #index)", []any{int64(0), int64(1), int64(2), int64(3)}},
		{"files | map(.size) | sum()", int64(3)}, {"sum(files, .size)", int64(3)}, {"sum(empty)", int64(0)}, {"find(files, .size == 1).path", "a.go"},
		{"find(files, .size == 8)", nil}, {"findIndex(nums, # == 3)", int64(0)}, {"findLastIndex(nums, # == 3)", int64(3)}, {"findLast(nums, # < 3)", 2.5},
		{"groupBy(findings, .severity).low[0].line", int64(9)}, {"map(sortBy(files, .size), .path)", []any{"a.go", "b.go"}},
		{"map(sortBy(files, .path, 'desc'), .path)", []any{"b.go", "a.go"}}, {"reduce(nums, #acc + #, 0)", 9.5}, {"reduce([1, 2, 3], #acc * #)", int64(6)},
		{"map(files, {let f = #; len(filter(files, .size >= f.size))})", []any{int64(1), int64(2)}},
		{"len(text)", int64(11)}, {"len(map)", int64(3)}, {"type(nums)", "array"}, {"string(nums)", "[3,1,2.5,3]"}, {"string('s')", "s"}, {"int(digits) + 1", int64(43)},
		{"int(2.9)", int64(2)}, {"float('2.5')", 2.5}, {"abs(-3)", int64(3)}, {"ceil(1.2)", int64(2)}, {"floor(-1.2)", int64(-2)}, {"round(2.5)", int64(3)},
		{"max(nums)", int64(3)}, {"min(4, 2, nums)", int64(1)}, {"mean(1, 2)", 1.5}, {"median(nums)", 2.75}, {"median([3, 1, 2])", int64(2)},
		{"sort(nums)", []any{int64(1), 2.5, int64(3), int64(3)}}, {"sort(['b', 'a'], 'desc')", []any{"b", "a"}}, {"reverse([1, 2])", []any{int64(2), int64(1)}},
		{"uniq(nums)", []any{int64(3), int64(1), 2.5}}, {"concat([1], [2])", []any{int64(1), int64(2)}}, {"flatten([1, [2, [3]]])", []any{int64(1), int64(2), int64(3)}},
		{"first(nums)", int64(3)}, {"last(empty)", nil}, {"take(nums, 9)", []any{int64(3), int64(1), 2.5, int64(3)}},
		{"keys(map)", []any{"a", "m", "z"}}, {"values(map)", []any{int64(2), int64(3), int64(1)}},
		{"toPairs(map)", []any{[]any{"a", int64(2)}, []any{"m", int64(3)}, []any{"z", int64(1)}}}, {"fromPairs(toPairs(map)) == map", true},
		{"trim('  a ')", "a"}, {"trim('xax', 'x')", "a"}, {"trimPrefix('ab', 'a')", "b"}, {"trimSuffix('ab', 'b')", "a"}, {"upper(text)", "HÉLLO WÖRLD"}, {"lower('A')", "a"},
		{"split('a,b,c', ',')", []any{"a", "b", "c"}}, {"split('a,b,c', ',', 2)", []any{"a", "b,c"}}, {"join(['a', 'b'], '-')", "a-b"}, {"replace('aXa', 'a', 'bb')", "bbXbb"},
		{"repeat('ab', 2)", "abab"}, {"indexOf(text, 'w')", int64(6)}, {"lastIndexOf('aba', 'a')", int64(2)}, {"indexOf('a', 'z')", int64(-1)},
		{"hasPrefix(text, 'h')", true}, {"hasSuffix(text, 'h')", false}, {"toJSON(map)", `{"a":2,"m":3,"z":1}`}, {"fromJSON('[9007199254740993]')[0]", int64(9007199254740993)},
		{"fromBase64(toBase64('é'))", "é"}, {"{'odd key': 1, b: n}", obj{"odd key": int64(1), "b": int64(7)}}, {"{(repo): 1}", obj{".": int64(1)}},
		{"0x1F", int64(31)}, {"1_000", int64(1000)}, {"`raw\\n`", `raw\n`},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			got, err := eval(t, "${"+c.text+"}")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWhatIsNotThereOrDoesNotFitIsAnErrorThatNamesIt(t *testing.T) {
	cases := []struct{ text, want string }{
		{"result.isues", `result has no key "isues" (did you mean "issues"?; use ?. or ?? where it may be absent)`},
		{`result["\x1b[31m"]`, `result has no key "\x1b[31m"`},
		{"result.nested.dep", `result.nested has no key "dep"`},
		{"count(findings, .line > 3)", `findings[2] has no key "line" (known: severity; use ?. or ??`},
		{"map(files, {map(findings, .line)})", `findings[2] has no key "line"`},
		{"files[2].path", "files[2] is beyond the list, which has 2 items"},
		{"none.x", "none is null and has no members"},
		{"result.null.x", "result.null is null and has no members"},
		{"result.gone.x?.y ?? result.alsogone", `result has no key "alsogone"`},
		{"default(result[repo].x, result.gone)", `result has no key "gone"`},
		{"result[result.gone] ?? 1", `result has no key "gone"`},
		{"files.path", "files is a list; its items are numbered, not named"},
		{"result[0]", "result is an object; its keys are text, not a number"},
		{"n.x", "n is a number and has no members"},
		{"n and yes", "what stands beside and must be true or false; n is a number"},
		{"n ? 1 : 2", "a condition must be true or false; n is a number"},
		{"repo + n", "+ does not take text (repo) and a number (n) (use string(…) to make text)"},
		{"nums + nums", "use concat(…) to join lists"},
		{"repo > n", "> does not take text (repo) and a number (n)"},
		{"yes < yes", "< does not take"},
		{"9223372036854775807 + 1", "beyond the range of integers"},
		{"-9223372036854775807 - 2", "beyond the range of integers"},
		{"4611686018427387904 * 2", "beyond the range of integers"},
		{"(-9223372036854775807 - 1) / -1", "beyond the range of integers"},
		{"2 ** 63", "beyond the range of integers"},
		{"n / 0", "division by zero"},
		{"n % 0", "division by zero"},
		{"half / 0.0", "division by zero"},
		{"big * 0.5", "cannot be mixed with fractions exactly"},
		{"1e308 * 1e308", "the result is no number"},
		{"half % 2", "% takes whole numbers"},
		{"sum([1, 'a'])", "sum takes numbers; item 1 gives text"},
		{"max(empty)", "max of nothing has no value"},
		{"len(n)", "len takes text or a list or an object; n is a number"},
		{"map(n, #)", "map takes a list; n is a number"},
		{"filter(nums, #)", "the predicate of filter must be true or false; for item 0 it is a number"},
		{"sort([1, 'a'])", "cannot be sorted with each other"},
		{"sort(nums, 'up')", "the order is one of"},
		{"reduce(empty, #acc)", "reduce of an empty list has no value"},
		{"join(nums)", "join takes text; item 0 is a number"},
		{"int('x')", "the text is not a number"},
		{"fromJSON('{')", "not JSON"},
		{"fromBase64('/w==')", "is not text"},
		{"repo in text", "in does not take text and text"},
		{"repo matches text + '('", "missing closing )"},
		{"repo matches '(x{1,30}){1,' + '33}y{1,999}'", "the pattern is too large"},
		{"{'a\\nb': 1}.c", `the value has no key "c" (use ?. or ?? where it may be absent)`},
		{"groupBy(nums, none)", "groupBy needs text as the key"},
		{"repeat('a', -1)", "repeat needs a whole number"},
		{"{(n): 1}", "a key must be text, not a number"},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			_, err := eval(t, "${"+c.text+"}")
			var e *expr.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestCompileReportsEveryMistakeWithItsPlace(t *testing.T) {
	_, err := expr.CompileValue(obj{
		"code": "${item.text}",
		"list": []any{"é ${rpo} and ${nwo()}"},
	}, "repo", "item2")
	want := strings.TrimSpace(`
code: in ${item.text}: unknown name "item" (did you mean "item2"?)
list[0]: in ${rpo}: unknown name "rpo" (did you mean "repo"?)
list[0]: in ${nwo()}: unknown function "nwo" (known: abs, all, any, ceil, concat, count, default, filter, find, findIndex, findLast, findLastIndex, …)`)
	if err == nil || err.Error() != want {
		t.Fatalf("got\n%v\nwant\n%s", err, want)
	}
	var es expr.Errors
	if !errors.As(err, &es) || es[1].Offset != len("é ${") || es[2].Offset != len("é ${rpo} and ${") {
		t.Errorf("offsets: %+v", es)
	}
}

func TestWhatTheLanguageDoesNotHaveIsRefusedWhenCompiled(t *testing.T) {
	cases := []struct{ text, want string }{
		{"${now()}", "now() is not available: there is no clock"},
		{"${date('2026-01-01')}", "date() is not available"},
		{"${timezone('UTC')}", "there is no time zone"},
		{"${repo.upper()}", "values have no methods"},
		{"${b'x'}", "there are no byte strings"},
		{"${$env}", `unknown name "$env"`},
		{"${1; 2}", "an expression has one value"},
		{"${len()}", "len takes 1 argument, not 0"},
		{"${split('a')}", "split takes 2 to 3 arguments, not 1"},
		{"${#}", "not an expression"},
		{"${map(nums, #other)}", "unknown name #other"},
		{"${repo matches '('}", "missing closing )"},
		{"${}", "write a name"},
		{"${ ", "the ${ has no }"},
		{"${'}", "the ${ has no }"},
		{"${repo = 1}", "compare with =="},
		{"${count}", "count(…) is a function"},
		{"${3.14159265358979323846}", "cannot be kept exactly"},
		{"${repo +}", "not an expression: it ends too early"},
		{"${" + strings.Repeat("1+", 2000) + "1}", "maximum allowed nodes"},
		{"${" + strings.Repeat(" ", expr.MaxSource) + "1}", "at most 16384 are read"},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			_, err := expr.Compile(c.text, "repo", "nums")
			var es expr.Errors
			if !errors.As(err, &es) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.40s: error %v, want one with %q", c.text, err, c.want)
			}
		})
	}
}

func TestResultsAreNeverEvaluatedAgainAndShareNothing(t *testing.T) {
	hostile := obj{"s": "${1 + 1}", "l": []any{"${2}"}}
	tpl, err := expr.CompileValue(obj{"a": "${x}", "b": "got ${x.s}", "${c}": "$${d}"}, "x")
	if err != nil {
		t.Fatal(err)
	}
	got, err := tpl.Eval(t.Context(), obj{"x": hostile})
	if err != nil {
		t.Fatal(err)
	}
	want := obj{"a": obj{"s": "${1 + 1}", "l": []any{"${2}"}}, "b": "got ${1 + 1}", "${c}": "${d}"}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	got.(obj)["a"].(obj)["l"].([]any)[0] = "changed"
	if hostile["l"].([]any)[0] != "${2}" {
		t.Error("the result shares memory with what was evaluated")
	}
}

func TestConstantsAreCopied(t *testing.T) {
	tpl, err := expr.CompileValue(obj{"a": []any{"$${x}"}})
	if err != nil || !tpl.Constant() {
		t.Fatal(err, tpl)
	}
	for range 2 {
		got, err := tpl.Eval(t.Context(), nil)
		if d := cmp.Diff(obj{"a": []any{"${x}"}}, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
		got.(obj)["a"] = nil
	}
}

func TestNames(t *testing.T) {
	tpl, err := expr.CompileValue([]any{"${repo} ${let x = n; x + files[0].size}", obj{"k": "${map(nums, .repo)}"}}, names()...)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"files", "n", "nums", "repo"}, tpl.Names()); d != "" {
		t.Error(d)
	}
}

func TestTypes(t *testing.T) {
	declared := map[string]string{"repo": "string", "n": "number", "yes": "boolean", "nums": "array", "map": "object"}
	cases := []struct{ text, typ, fault string }{
		{"plain", "string", ""}, {"${repo} x", "string", ""}, {"${n}", "number", ""}, {"${result}", "any", ""},
		{"${n > 3}", "boolean", ""}, {`${count(nums, .x == 1)}`, "number", ""}, {"${nums[0]}", "any", ""}, {"${nums[1:]}", "array", ""},
		{"${yes ? 1 : 2}", "number", ""}, {"${yes ? 1 : 'a'}", "any", ""}, {"${repo + result}", "string", ""}, {"${none?.x ?? 1}", "any", ""},
		{"${default(n, 1)}", "number", ""}, {"${let a = repo; a}", "string", ""}, {"${{a: 1}}", "object", ""}, {"${nil}", "null", ""},
		{"${n.x}", "any", "n is a number and has no members"},
		{"${count(repo, # == 1)}", "number", "count takes a list; repo is text"},
		{"${repo and yes}", "boolean", "and takes true or false; repo is text"},
		{"${repo > n}", "boolean", "> takes two numbers or two texts, not text and a number"},
		{"${nums.path}", "any", "nums is a list; its items are numbered, not named (write a number, or map(nums, .key))"},
		{"${map[1]}", "any", "map is an object; its keys are text, not a number"},
		{"${n ? 1 : 2}", "number", "a condition takes true or false; n is a number"},
		{"${upper(n)}", "string", "upper takes text; n is a number"},
		{"x ${map - 1} y", "string", "- takes a number; map is an object"},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			tpl, err := expr.Compile(c.text, names()...)
			if err != nil {
				t.Fatal(err)
			}
			typ, errs := tpl.Check(declared)
			if typ != c.typ || typ != tpl.TypeOf(declared) {
				t.Errorf("type %q, want %q", typ, c.typ)
			}
			if c.fault == "" && len(errs) > 0 || c.fault != "" && !strings.Contains(errs.Error(), c.fault) {
				t.Errorf("faults %v, want %q", errs, c.fault)
			}
		})
	}
}
