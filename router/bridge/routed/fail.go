package routed

import (
	"encoding/json"
	"errors"
	"fmt"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
	"junction/state"
)

// causes are the codes of what the router itself fails with.
var causes = map[string]int{
	router.CodeNoCandidate: 4021, router.CodeSaturated: 4022, router.CodeBudget: 4023, router.CodeDeadline: 4024,
}

// trouble is the member data of an error.
type trouble struct {
	Code      string          `json:"code"`
	Execution state.Execution `json:"execution,omitempty"` // of the last attempt
	Server    string          `json:"server,omitempty"`
	Hop       string          `json:"hop,omitempty"`
	Attempts  []attempt       `json:"attempts,omitempty"`
	Evidence  any             `json:"evidence,omitempty"` // of an unknown outcome
}

type attempt struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Code      router.Code     `json:"code"`
	Execution state.Execution `json:"execution"`
	Message   string          `json:"message,omitempty"`
}

// failure words the end of a hop that has no result. evidence is what is known of one
// whose outcome is not.
func failure(err error, evidence any) mcp.Reply {
	if contract, ok := errors.AsType[*router.ContractError](err); ok {
		return invalid("%v", contract)
	}
	told := state.FailureOf(err)
	t := trouble{Code: told.Code, Server: told.Server, Hop: told.Hop, Evidence: evidence}
	message := told.Message
	if open, ok := errors.AsType[*router.UnknownOutcomeError](err); ok {
		t.Execution, t.Evidence = state.Unknown, evidenceOf(open.Evidence)
	}
	if nondeterminism, ok := errors.AsType[*state.NondeterminismError](err); ok {
		t.Code, t.Execution, t.Hop = string(router.IdempotencyConflict), state.NotExecuted, nondeterminism.Hop
		message = "the key was used before with other arguments, and a call is made once under a key: nothing was sent"
	}
	if errors.Is(err, errUndecided) && evidence != nil {
		t.Execution = state.Unknown
		t.take(evidence)
		message = fmt.Sprintf("it is unknown whether %s took effect; look at the server, then decide: it is not called again by itself", t.where(evidence))
	}
	if all, ok := errors.AsType[*router.AttemptsError](err); ok {
		for _, a := range all.Attempts {
			t.Attempts = append(t.Attempts, attempt{a.Server, a.Tool, a.Err.Code, a.Err.Execution, a.Err.Message})
			t.Execution = a.Err.Execution
		}
	}
	code, ours := causes[t.Code]
	if !ours {
		code = bridge.CodeOf(router.Code(t.Code))
	}
	data, broken := json.Marshal(t)
	if broken != nil {
		return mcp.Reply{Error: &mcp.RPCError{Code: protocol.INTERNAL_ERROR, Message: message}}
	}
	return mcp.Reply{Error: &mcp.RPCError{Code: code, Message: message, Data: data}}
}

// take fills in what the evidence says of the attempt.
func (t *trouble) take(evidence any) {
	said, _ := evidence.(map[string]any)
	for name, to := range map[string]*string{"code": &t.Code, "server": &t.Server, "hop": &t.Hop} {
		if s, ok := said[name].(string); ok && s != "" {
			*to = s
		}
	}
}

func (t *trouble) where(evidence any) string {
	said, _ := evidence.(map[string]any)
	return fmt.Sprintf("%v on %v (%v)", said["tool"], said["server"], said["effect"])
}

// evidenceOf is what a person needs to find out whether a call took effect.
func evidenceOf(rec state.Record) map[string]any {
	e := map[string]any{
		"hop": rec.Hop, "attempt": rec.Attempt, "server": rec.Server, "endpoint": rec.Endpoint, "tool": rec.Tool,
		"effect": rec.Effect, "code": rec.Code, "message": rec.Message, "started": rec.Started.UTC(),
	}
	if rec.Key != "" {
		e["key"], e["ledger"] = rec.Key, rec.Ledger
	}
	return e
}
