package mcp

import (
	"strings"

	"junction/router"
	"junction/state"
)

// unmet is why no credential served a request.
type unmet struct {
	text   string // what the server takes and what is held; never a value
	down   *router.CallError
	reopen bool // another credential may open another session
}

// explain names what the server takes and what became of what is held.
func (w *wallet) explain(d demand, t *haggle) *unmet {
	var u unmet
	var held []string
	refused := false
	for _, k := range w.cards {
		why := t.turned[k]
		switch {
		case why == "refused":
			refused = true
		case why == "" && !d.takes(k.kind):
			why = "not taken"
		case why == "":
			why = "not tried"
		}
		held = append(held, k.kind+" ("+why+")")
	}
	if t.last != nil && t.last.Code != router.AuthMismatch && !refused {
		u.down = t.last
	}
	u.text = taken(d) + "; held for it: " + strings.Join(held, ", ")
	return &u
}

// taken is what a server says of schemes, for people.
func taken(d demand) string {
	if d.schemes == nil {
		return "it does not say which schemes it takes"
	}
	names := make([]string, len(d.schemes))
	for i, s := range d.schemes {
		names[i] = excerpt(s)
	}
	return "it takes " + excerpt(strings.Join(names, ", "))
}

// apply makes e say so. Where only the issuer of tokens could not be reached, that
// is what is wrong.
func (u *unmet) apply(e *router.CallError) *router.CallError {
	v := *e
	v.Message += "; " + u.text
	switch {
	case u.down != nil:
		v.Code, v.Execution, v.RetryAfter = u.down.Code, state.NotExecuted, u.down.RetryAfter
	case u.reopen:
		v.Code, v.Execution = router.SessionExpired, state.NotExecuted
	}
	return &v
}
