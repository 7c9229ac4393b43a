package router

import (
	"junction/state"
)

// RetryRow says what follows a failed attempt with one code, by what is known of
// its execution and by the call's effect.
type RetryRow struct {
	Code      Code            `json:"code"`
	Execution state.Execution `json:"execution"` // not_executed, or unknown, which stands for executed as well
	Usual     bool            `json:"usual"`     // what the code means where the transport knows no better
	// What follows for a call that is …
	Safe        Step `json:"safe"`
	Conditional Step `json:"conditional"`
	Unsafe      Step `json:"unsafe"`
}

// Step is what follows a failed attempt, in the words of the table.
type Step string

const (
	StepStop      Step = "stop"      // the hop fails
	StepOther     Step = "other"     // another server, this one no more
	StepElsewhere Step = "elsewhere" // another server at once, else this one after a back-off
	StepRenew     Step = "renew"     // this server at once in a new session; the second time elsewhere
	StepSameKey   Step = "same_key"  // the same key and arguments, where the ledger is shared
	StepReconcile Step = "reconcile" // never by itself: the verify tool, else a person says whether it happened
)

// Says is the step for people.
func (s Step) Says() string {
	switch s {
	case StepStop:
		return "stop"
	case StepOther:
		return "another server"
	case StepElsewhere:
		return "another server, else again"
	case StepRenew:
		return "a new session, once"
	case StepSameKey:
		return "same key, same ledger"
	case StepReconcile:
		return "no retry: verify or ask"
	}
	return string(s)
}

// Next is what follows for a call with this effect; what is unsaid is unsafe.
func (r RetryRow) Next(e state.Effect) Step {
	switch e {
	case state.Safe:
		return r.Safe
	case state.Conditional:
		return r.Conditional
	}
	return r.Unsafe
}

// RetryTable is the table of codes that every decision after a failed attempt is
// read from, in the order of the vocabulary; of each code the row of what surely
// did not execute comes first.
func RetryTable() []RetryRow {
	rows := make([]RetryRow, 0, 2*len(vocabulary))
	for _, code := range vocabulary {
		for _, execution := range []state.Execution{state.NotExecuted, state.Unknown} {
			e := &CallError{Code: code, Execution: execution}
			rows = append(rows, RetryRow{
				Code: code, Execution: execution, Usual: rules[code].usual == execution,
				Safe: after(e, state.Safe).word(), Conditional: after(e, state.Conditional).word(), Unsafe: after(e, state.Unsafe).word(),
			})
		}
	}
	return rows
}

// vocabulary is the 12 codes in the order in which they are printed.
var vocabulary = []Code{
	AuthRequired, AuthMismatch, CapabilityMismatch, OutputInvalid, VersionUnsupported, SessionExpired,
	ServerOverload, ServerError, Timeout, Cancelled, Transport, IdempotencyConflict,
}

// word is the step as the table prints it.
func (s step) word() Step {
	switch s {
	case other:
		return StepOther
	case elsewhere:
		return StepElsewhere
	case renew:
		return StepRenew
	case sameLedger:
		return StepSameKey
	case reconcile:
		return StepReconcile
	}
	return StepStop
}
