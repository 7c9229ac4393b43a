package bridge

import (
	"fmt"
	"strings"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Trouble is the member data of an error that is the bridge's own.
type Trouble struct {
	Code      router.Code     `json:"code"`
	Execution state.Execution `json:"execution"` // not_executed for certain, or unknown
	Server    string          `json:"server"`
	Since     *time.Time      `json:"since,omitempty"`    // away since then
	Attempts  int             `json:"attempts,omitempty"` // at reaching it, since then
	Next      string          `json:"next"`               // what to do
}

// what is said of a request that the server did not answer.
type failed struct {
	server  string
	subject string // "tool deploy", or the method
	effect  state.Effect
	lacking bool      // conditional, and the key was not in the call
	sent    time.Time // zero: never
	now     time.Time
	status  Status
}

// reply is the error for the client.
func (f failed) reply(e *router.CallError) mcp.Reply {
	t := Trouble{Code: e.Code, Execution: e.Execution, Server: f.server}
	if f.status.State != Connected && !f.status.Since.IsZero() {
		since := f.status.Since.UTC().Truncate(time.Millisecond)
		t.Since, t.Attempts = &since, f.status.Attempts
	}
	message := f.message(e)
	t.Next = f.next(e)
	return mcp.Reply{Error: &mcp.RPCError{Code: CodeOf(e.Code), Message: message + " " + sentence(t.Next), Data: marshal(t)}}
}

func (f failed) message(e *router.CallError) string {
	why := e.Message
	if why == "" && e.Err != nil {
		why = e.Err.Error()
	}
	why = fmt.Sprintf("%s (%s)", clean(strings.TrimRight(why, ". ")), e.Code)
	if e.Execution != state.Unknown {
		return fmt.Sprintf("%s at server %s was not executed: %s.", f.subject, f.server, why)
	}
	when := ""
	if after := f.now.Sub(f.sent); !f.sent.IsZero() && after >= time.Second {
		when = fmt.Sprintf(", %s after it was sent", after.Round(100*time.Millisecond))
	}
	said := fmt.Sprintf("the outcome of %s at server %s is unknown%s: %s.", f.subject, f.server, when, why)
	switch {
	case f.effect == state.Safe:
		return said
	case f.lacking:
		return said + " It was not called again because the key that would make that safe was not in the call."
	case f.effect == state.Conditional:
		return said
	}
	return said + " It was not called again because its effect is not declared safe."
}

func (f failed) next(e *router.CallError) string {
	switch {
	case e.Execution == state.Unknown && f.effect != state.Safe:
		return "look before you call it again"
	case e.Code == router.AuthRequired:
		return fmt.Sprintf("give the credential of server %s in the servers file (auth), then ask again", f.server)
	case e.Code == router.AuthMismatch:
		return fmt.Sprintf("check the credential of server %s in the servers file (auth): it is not the kind that is wanted, or it is refused", f.server)
	case e.Code == router.VersionUnsupported:
		return fmt.Sprintf("server %s and this program have no protocol version in common: update one of them", f.server)
	case e.Code == router.CapabilityMismatch, e.Code == router.IdempotencyConflict:
		return "correct the request"
	case e.RetryAfter > 0:
		return fmt.Sprintf("ask again after %s", e.RetryAfter.Round(time.Millisecond))
	}
	return fmt.Sprintf("ask again later; junction diagnose --server %s says what is wrong with it", f.server)
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
