package router

import (
	"testing"

	"junction/health"
	"junction/state"
)

func TestAnOutcomeSaysOfItsServerWhatItsHealthIsToldOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range []*CallError{
		{Code: Timeout, Clock: ClockMaximum, Message: "no answer"},
		{Code: Timeout, Clock: ClockIdle},
		{Code: Timeout, Clock: ClockCaller, Message: "its time was over"},
		{Code: Transport, Message: "a clock: refused"},
		{Code: AuthMismatch, Message: "401"},
		{Code: Cancelled},
		{Code: "MCP_OF_ANOTHER_DAY"},
	} {
		message := messageOf(c)
		if got := ClockOf(message); got != c.Clock {
			t.Errorf("%v: clock %q of %q", c, got, message)
		}
		o := OutcomeInfo{Status: statusOf(c), Code: c.Code, Message: message}
		if got, want := o.Says(), blameOf(c); got != want {
			t.Errorf("%v says %d, its health is told %d", c, got, want)
		}
	}
	for o, want := range map[OutcomeInfo]health.Outcome{
		{Status: state.CallSuccess}:                 health.Success,
		{Status: state.CallSuccess, IsError: true}:  health.ToolError,
		{Status: state.CallWaiting}:                 health.Ignored,
		{Status: state.CallRejected, Code: Timeout}: health.Ignored,
	} {
		if got := o.Says(); got != want {
			t.Errorf("%+v says %d, not %d", o, got, want)
		}
	}
}
