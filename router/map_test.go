package router_test

import (
	"testing"

	"junction/state/expr"
)

func template(t *testing.T, v any) *expr.Template {
	t.Helper()
	tpl, err := expr.CompileValue(v, "with", "result")
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}
