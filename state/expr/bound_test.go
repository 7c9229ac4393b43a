package expr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"junction/state/expr"
)

func TestEvaluationIsBounded(t *testing.T) {
	wide := make([]any, 400)
	for i := range wide {
		wide[i] = int64(i)
	}
	double := "let a0 = ['0123456789']; "
	for i := 1; i < 60; i++ {
		double += fmt.Sprintf("let a%d = [a%d, a%d]; ", i, i-1, i-1)
	}
	cases := []struct{ name, text, want string }{
		{"nested sums", "sum(w, {let a = #; sum(w, {let b = #; sum(w, {a + b + #})})})", "more than 1000000 steps"},
		{"range", "1..1000000000", "more than 1000000 items"},
		{"range over all integers", "(-9223372036854775807 - 1)..9223372036854775807", "more than 1000000 items"},
		{"pattern over large text", "repeat('a', 4000000) matches '(a?){20}b'", "more than 1000000 steps"},
		{"repeat", "repeat('x', 9223372036854775807)", "64 MiB"},
		{"replace", "replace(repeat('x', 100000), 'x', repeat('y', 100000))", "64 MiB"},
		{"concatenation", "reduce(1..100, {#acc + #acc}, 'x')", "64 MiB"},
		{"sharing multiplies", double + "a59", "steps"},
		{"sharing multiplies in toJSON", double + "toJSON(a59)", "steps"},
		{"sharing multiplies in uniq", double + "uniq(a59)", "steps"},
		{"sharing multiplies in a comparison", double + "a59 == [a58, a58]", "steps"},
		{"sharing multiplies in flatten", double + "flatten(a59)", "steps"},
		{"large text many times", "map(1..1000, repeat('x', 100000))", "64 MiB"},
		{"large text shared", "let s = repeat('x', 1000000); map(1..100, s)", "64 MiB"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tpl, err := expr.Compile("${"+c.text+"}", "w")
			if err != nil {
				t.Fatal(err)
			}
			if v, err := tpl.Eval(t.Context(), obj{"w": wide}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("value of type %T, error %v; want an error with %q", v, err, c.want)
			}
		})
	}
	nest, err := expr.Compile("${reduce(1..2000, {[#acc]}, 1)}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nest.Eval(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("a result nested 2,000 deep: error %v", err)
	}
}

func TestEvaluationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tpl, err := expr.Compile("${sum(1..100000)}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Eval(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
