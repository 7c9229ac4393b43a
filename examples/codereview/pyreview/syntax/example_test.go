package syntax_test

import (
	"fmt"

	"junction/examples/codereview/pyreview/syntax"
)

func ExampleCheck() {
	for _, f := range syntax.Check("def total(items=[]):\n    return sum(items)\n") {
		fmt.Printf("%d:%d %s\n", f.Line, f.Column, f.Rule)
	}
	for _, f := range syntax.Check("if total = 3:\n    pass\n") {
		fmt.Println(&f)
	}
	// Output:
	// 1:17 mutable-default
	// 1:10: invalid syntax. Maybe you meant '==' or ':=' instead of '='?
}
