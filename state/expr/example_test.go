package expr_test

import (
	"context"
	"fmt"

	"junction/state/expr"
)

func ExampleCompile() {
	tpl, err := expr.Compile(`${count(findings, .severity == "high") > 0}`, "findings", "repo")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := tpl.Eval(context.Background(), map[string]any{
		"findings": []any{map[string]any{"severity": "high"}}, "repo": ".",
	})
	fmt.Println(v, err, tpl.Names())

	_, err = expr.Compile("${count(findngs)}", "findings")
	fmt.Println(err)
	// Output:
	// true <nil> [findings]
	// in ${count(findngs)}: unknown name "findngs" (did you mean "findings"?)
}

func ExampleCompileValue() {
	tpl, err := expr.CompileValue(map[string]any{
		"path": "${with.context.path ?? \".\"}",
		"note": "reviewing ${with.language}",
	}, "with")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := tpl.Eval(context.Background(), map[string]any{"with": map[string]any{"language": "go"}})
	fmt.Println(v, err)
	// Output:
	// map[note:reviewing go path:.] <nil>
}
