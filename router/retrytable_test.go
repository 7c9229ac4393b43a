package router_test

import (
	"fmt"
	"testing"

	"junction/router"
	"junction/state"
)

// The table that is printed is the one that is obeyed: each of its rows is
// brought about at a fleet.
func TestTheRetryTableIsWhatTheRouterDoes(t *testing.T) {
	followed := map[router.Step]string{
		router.StepStop: toNobody, router.StepOther: toOther, router.StepElsewhere: toAny,
		router.StepRenew: toSame, router.StepSameKey: toLedger, router.StepReconcile: toPerson,
	}
	rows := router.RetryTable()
	usual := map[router.Code]int{}
	for _, row := range rows {
		if row.Usual {
			usual[row.Code]++
		}
		if row.Code == router.IdempotencyConflict && row.Execution == state.Unknown {
			continue // a ledger that works on the key right now: it is waited for
		}
		for _, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
			want, known := followed[row.Next(e)]
			if !known || row.Next(e).Says() == string(row.Next(e)) && row.Next(e) != router.StepStop {
				t.Errorf("%s, %s, %s: the step %q has no meaning", row.Code, row.Execution, e, row.Next(e))
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", row.Code, row.Execution, e), func(t *testing.T) {
				checkNext(t, router.CallError{Code: row.Code, Execution: row.Execution}, e, want)
			})
		}
	}
	if len(rows) != 24 || len(usual) != 12 {
		t.Errorf("%d rows of %d codes, want two of each of the 12", len(rows), len(usual))
	}
	for code, n := range usual {
		if n != 1 {
			t.Errorf("%s usually means %d things", code, n)
		}
	}
	if row := rows[0]; row.Next("") != row.Unsafe {
		t.Error("what is unsaid is not unsafe")
	}
}
