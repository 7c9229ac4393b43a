package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state/document"
	"junction/state/value"
)

func parse(t *testing.T, text string) *document.Document {
	t.Helper()
	d, err := document.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return d
}

func TestValuesAreReadAsJSONReadsThem(t *testing.T) {
	d := parse(t, `
text: plain
date: 2026-01-02
yes: on
big: 9007199254740993
whole: 1.0
hex: 0x1F
octal: 0o17
half: 0.5
bool: true
none: ~
empty:
list: [1, "2", {a: b}]
base: &base {k: v}
copy: *base
`)
	want := map[string]any{
		"text": "plain", "date": "2026-01-02", "yes": "on", "big": int64(9007199254740993), "whole": int64(1),
		"hex": int64(31), "octal": int64(15), "half": 0.5, "bool": true, "none": nil, "empty": nil,
		"list": []any{int64(1), "2", map[string]any{"a": "b"}},
		"base": map[string]any{"k": "v"}, "copy": map[string]any{"k": "v"},
	}
	if diff := cmp.Diff(want, d.Root.Value()); diff != "" {
		t.Error(diff)
	}
	if err := d.Err(); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeReadIsAFaultAtItsPlace(t *testing.T) {
	nested := strings.Repeat("[", 80) + strings.Repeat("]", 80)
	bomb := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c <= 'f'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	cases := []struct{ name, text, want string }{
		{"not YAML", "a: [1,\n", "f.yaml:2:1: not YAML"},
		{"tab", "a:\n\tb: 1\n", "indent with spaces, not with tabs"},
		{"expression without quotes", "a: ${x: y}: z\n", "put quotes around text that holds ${…}"},
		{"colon in text", "a: b: c\n", "put quotes around text that holds a colon"},
		{"unknown alias", "a: *x\n", "f.yaml:1:4: not YAML: unknown anchor"},
		{"not UTF-8", "a: 1\nbc\xff: 2\n", "f.yaml:2:3: the text is not UTF-8"},
		{"two documents", "a: 1\n---\nb: 2\n", "more than one YAML document"},
		{"too large", strings.Repeat("#", document.MaxBytes+1), "at most 1048576 are read"},
		{"too deep", nested, "nested more than 64 deep"},
		{"alias bomb", bomb, "expands to more than 100000 values"},
		{"alias of itself", "a: &x [*x]\n", "f.yaml:1:8: the alias *x contains itself"},
		{"duplicate key", "a:\n  b: 1\n  b: 2\n", `f.yaml:3:3: the key "b" stands here twice; first in line 2 (remove one of them)`},
		{"merge key", "a: &a {x: 1}\nb:\n  <<: *a\n", "f.yaml:3:3: merge keys (<<) are not read"},
		{"key that is no text", "1: a\n", "f.yaml:1:1: a key must be text (put it in quotes)"},
		{"custom tag", "a: !foo b\n", "f.yaml:1:4: the tag !foo means nothing here"},
		{"tagged mapping", "a: !!set {b}\n", "the tag !!set means nothing here"},
		{"ambiguous octal", "a: 012\n", "f.yaml:1:4: the number 012 cannot be read"},
		{"infinity", "a: .inf\n", "the number .inf cannot be read"},
		{"inexact number", "a: 18446744073709551615\n", "cannot be kept exactly"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, err := document.Parse("f.yaml", []byte(c.text))
			if err == nil {
				err = d.Err()
			}
			var fs document.Faults
			if !errors.As(err, &fs) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("faults:\n%v\nwant one with %q", err, c.want)
			}
		})
	}
}

func TestAccessorsRecordEveryFaultAndGoOn(t *testing.T) {
	d := parse(t, `name: [x]
nmae: y
wait: 10
idle: -1s
long: 1y
mode: sharde
flag: "true"
count: 11
list: {a: 1}
tags: [a, 1]
empty: ""
good: {wait: 1m30s, flag: true, count: 10, tags: one}
`)
	top := d.Root.Mapping("name", "wait", "idle", "long", "mode", "flag", "count", "list", "tags", "empty", "good", "needed")
	top.Require("name").Text()
	top.Require("needed").Text()
	top.Get("wait").Duration()
	top.Get("idle").Duration()
	top.Get("long").Duration()
	top.Get("mode").OneOf("shared", "thread")
	top.Get("flag").Bool()
	top.Get("count").Int(1, 10)
	top.Get("list").List()
	top.Get("tags").Texts()
	top.Get("empty").Word()
	good := top.Get("good").Mapping()
	if good.Get("wait").Duration() != 90*time.Second || !good.Get("flag").Bool() || good.Get("count").Int(1, 10) != 10 ||
		!cmp.Equal(good.Get("tags").Texts(), []string{"one"}) {
		t.Error("the values without a fault were not read")
	}
	want := strings.TrimSpace(`
f.yaml:1:1: the key "needed" is missing (add needed: …)
f.yaml:1:7: text is expected here, not a list
f.yaml:2:1: unknown key "nmae" (did you mean "name"?)
f.yaml:3:7: a length of time is expected here, not a number (write it with its unit, such as 250ms, 10s or 5m)
f.yaml:4:7: "-1s" is not above zero (leave it out to have the default)
f.yaml:5:7: "1y" is no length of time (write it with its unit, such as 250ms, 10s or 5m)
f.yaml:6:7: "sharde" is none of shared, thread (did you mean "shared"?)
f.yaml:7:7: true or false is expected here, not text (write true or false, without quotes)
f.yaml:8:8: a whole number from 1 to 10 is expected here, not 11
f.yaml:9:7: a list is expected here, not a mapping
f.yaml:10:11: text is expected here, not a number
f.yaml:11:8: text that is not empty is expected here`)
	if diff := cmp.Diff(want, d.Err().Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAbsentNodesAreZeroValuesWithoutAFault(t *testing.T) {
	d := parse(t, "{}")
	m := d.Root.Mapping("a")
	none := m.Get("a")
	if none.Text() != "" || none.Bool() || none.Int(1, 2) != 0 || none.Duration() != 0 || none.List() != nil ||
		none.Texts() != nil || none.Value() != nil || none.OneOf("x") != "" || none.Mapping("x").Has("x") || none.Mapping().Node() != nil {
		t.Error("an absent node has a value")
	}
	if err := d.Err(); err != nil {
		t.Error(err)
	}
}

func TestAnEmptyFileIsNothing(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n"} {
		d := parse(t, text)
		d.Root.Mapping("a")
		if err := d.Err(); err == nil || err.Error() != "f.yaml:1:1: a mapping is expected here, not nothing" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAFaultWithinTextStandsWhereItIsWritten(t *testing.T) {
	d := parse(t, `plain: é one X
single: 'it''s X'
double: "say \"hi\" X"
escape: "tab\tX"
block: |
  first
    second X
`)
	want := map[string][2]int{"plain": {1, 14}, "single": {2, 16}, "double": {3, 21}, "escape": {4, 9}, "block": {7, 12}}
	m := d.Root.Mapping()
	for key, at := range want {
		n := m.Get(key)
		line, column := n.Position(strings.Index(n.Text(), "X"))
		if line != at[0] || column != at[1] {
			t.Errorf("%s: X is at %d:%d, want %d:%d", key, line, column, at[0], at[1])
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	d := parse(t, strings.Repeat("a: 1\n", document.MaxFaults+12))
	var fs document.Faults
	if !errors.As(d.Err(), &fs) || len(fs) != document.MaxFaults+1 || !strings.Contains(fs[len(fs)-1].Message, "11 more faults") {
		t.Errorf("%d faults, the last of them %v", len(fs), fs[len(fs)-1])
	}
}

func TestAnAliasRepeatsNoFault(t *testing.T) {
	d := parse(t, "a: &x {k: 1}\nb: *x\n")
	for _, e := range d.Root.Mapping().Entries() {
		e.Node.Mapping("key")
	}
	if got := d.Err().Error(); strings.Count(got, "\n") != 0 {
		t.Errorf("one mistake was reported more than once:\n%s", got)
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"capability", "server", "tool", "with", "need", "prefer", "selected_server"}
	for word, want := range map[string]string{
		"capabilty": "capability", "sevrer": "server", "Tool": "tool", "wiht": "with", "selected_sever": "selected_server",
		"cap": "capability", "withs": "with", "toolbox": "tool", "x": "", "entirely": "", "nede": "need", "need": "", strings.Repeat("a", 1000): "",
	} {
		if got := document.Suggest(word, known); got != want {
			t.Errorf("Suggest(%.20q) = %q, want %q", word, got, want)
		}
	}
	if got := document.Hint("zzz", []string{"b", "a", "b"}); got != "known: a, b" {
		t.Errorf("Hint = %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: &x [*x]\n", "- {a: b}\n- |\n  x\n", "a: 'x", "? a\n: b\n", "%YAML 1.2\n---\na\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := document.Parse("f", data)
		if err != nil {
			return
		}
		v := d.Root.Value()
		if _, err := value.Encode(v); err != nil {
			t.Fatalf("%q gives a value that is not canonical: %v", data, err)
		}
		if s, ok := v.(string); ok {
			for i := range len(s) + 1 {
				if line, _ := d.Root.Position(i); line < 1 {
					t.Fatalf("position %d of %q is line %d", i, data, line)
				}
			}
		}
	})
}

func ExampleParse() {
	doc, err := document.Parse("app.yaml", []byte("name: app\ntimeot: 10s\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	top := doc.Root.Mapping("name", "timeout")
	fmt.Println(top.Require("name").Text(), top.Get("timeout").Duration())
	fmt.Println(doc.Err())
	// Output:
	// app 0s
	// app.yaml:2:1: unknown key "timeot" (did you mean "timeout"?)
}
