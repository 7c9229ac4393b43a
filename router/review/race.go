package review

import (
	"strings"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Kind is how a server is spoken to, as far as the end of a request depends on
// it.
type Kind string

const (
	Stdio      Kind = "stdio"       // a child process, in both eras
	HTTP       Kind = "http"        // Streamable HTTP of 2026-07-28 and later
	LegacyHTTP Kind = "http-legacy" // Streamable HTTP up to 2025-11-25
)

// KindOf is the kind of a server whose handshake is done; without a description
// that of a server which speaks the later protocol.
func KindOf(s *router.Server, d *router.Description) Kind {
	switch {
	case s.Dial.URL == "":
		return Stdio
	case d != nil && !d.Modern:
		return LegacyHTTP
	}
	return HTTP
}

// Signal is what the server sees of the end of a request (requirement R24; MCP
// 2026-07-28, cancellation).
type Signal string

const (
	NoSignal     Signal = "nothing"
	Notice       Signal = "notifications/cancelled, no answer expected"
	StreamClosed Signal = "the stream is closed, nothing is posted"
	StreamNotice Signal = "notifications/cancelled is posted, the stream is closed"
)

// Cancel is how a request of this kind of server is cancelled.
func (k Kind) Cancel() Signal {
	switch k {
	case Stdio:
		return Notice
	case LegacyHTTP:
		return StreamNotice
	}
	return StreamClosed
}

// Race is one order in which the end of a request can meet another event, and who
// wins. There is one terminal state, reached once.
type Race struct {
	Order     string           `json:"order"`
	Status    state.CallStatus `json:"status"` // terminal
	Code      router.Code      `json:"code,omitempty"`
	Clock     string           `json:"clock,omitempty"`     // that ran out: idle or maximum
	Execution state.Execution  `json:"execution,omitempty"` // of a failure
	Final     string           `json:"final"`               // response that the caller gets
	Wire      Signal           `json:"wire"`
	Ignored   string           `json:"ignored"`              // the event that lost
	Counted   mcp.Stray        `json:"counted_as,omitempty"` // by the client; "": it cannot arrive, or is our own
}

// Loser is the ignored event for people, with what it is counted as.
func (r Race) Loser() string {
	if r.Counted == "" {
		return r.Ignored
	}
	return r.Ignored + " (counted: " + string(r.Counted) + ")"
}

// Terminal is the terminal state for people.
func (r Race) Terminal() string {
	var parts []string
	for _, p := range []string{string(r.Code), r.Clock, strings.ReplaceAll(string(r.Execution), "_", " ")} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return string(r.Status)
	}
	return string(r.Status) + " (" + strings.Join(parts, ", ") + ")"
}

// Orders of a race.
const (
	CancelQueued   = "cancel before it is sent"
	CancelAnswer   = "cancel, then the answer"
	AnswerCancel   = "the answer, then cancel"
	IdleAnswer     = "idle time without progress, then the answer"
	MaximumReport  = "progress past each idle time, then the maximum"
	LostCancel     = "the server closes the stream, then cancel"
	AnswerTwice    = "the answer, then another"
	AnswerProgress = "the answer, then progress"
)

// Finals and ignored events.
const (
	NoFinal    = "none"
	TheResult  = "the result"
	NoEvent    = "none"
	LateCancel = "the cancel"
	LateAnswer = "the answer"
	Another    = "the second answer"
	LateReport = "the progress"
	NoStream   = ", whose stream is closed"
)

// Races is the race table of a kind of server.
func Races(k Kind) []Race {
	cut := func(order string, status state.CallStatus, code router.Code, clock string) Race {
		return Race{Order: order, Status: status, Code: code, Clock: clock, Execution: state.Unknown, Final: NoFinal, Wire: k.Cancel()}
	}
	stands := func(order string) Race {
		return Race{Order: order, Status: state.CallSuccess, Final: TheResult, Wire: NoSignal}
	}
	return []Race{
		{Order: CancelQueued, Status: state.CallCancelled, Code: router.Cancelled, Execution: state.NotExecuted, Final: NoFinal, Wire: NoSignal, Ignored: NoEvent},
		cut(CancelAnswer, state.CallCancelled, router.Cancelled, "").late(k, LateAnswer, mcp.LateAnswer),
		stands(AnswerCancel).ignores(LateCancel),
		cut(IdleAnswer, state.CallTimeout, router.Timeout, "idle").late(k, LateAnswer, mcp.LateAnswer),
		cut(MaximumReport, state.CallTimeout, router.Timeout, "maximum").late(k, LateReport, mcp.LateProgress),
		Race{Order: LostCancel, Status: state.CallError, Code: router.Transport, Execution: state.Unknown, Final: NoFinal, Wire: NoSignal}.ignores(LateCancel),
		stands(AnswerTwice).late(k, Another, mcp.DuplicateAnswer),
		stands(AnswerProgress).late(k, LateReport, mcp.LateProgress),
	}
}

func (r Race) ignores(event string) Race {
	r.Ignored = event
	return r
}

// late is the race with an event that comes after the request ended: over HTTP its
// stream is closed by then, a pipe brings it all the same.
func (r Race) late(k Kind, event string, kind mcp.Stray) Race {
	if k == Stdio {
		r.Ignored, r.Counted = event, kind
	} else {
		r.Ignored = event + NoStream
	}
	return r
}
