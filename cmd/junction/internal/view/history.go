package view

import (
	"io"
	"text/tabwriter"
	"time"

	"junction/state"
)

// Call is a call record as history prints it.
type Call struct {
	Time       time.Time        `json:"time"`
	Thread     string           `json:"thread"`
	Step       int              `json:"step"`
	Node       string           `json:"node"`
	Hop        string           `json:"hop"`
	Round      int              `json:"round"`
	Attempt    int              `json:"attempt"`
	Capability string           `json:"capability,omitempty"`
	Server     string           `json:"server"`
	Endpoint   string           `json:"endpoint,omitempty"`
	Tool       string           `json:"tool"`
	Effect     state.Effect     `json:"effect,omitempty"`
	Status     state.CallStatus `json:"status"`
	Execution  state.Execution  `json:"execution,omitempty"`
	Code       string           `json:"code,omitempty"`
	Message    string           `json:"message,omitempty"`
	IsError    bool             `json:"is_error,omitempty"`
	DurationMS float64          `json:"duration_ms"`
	ServerMS   float64          `json:"server_ms,omitempty"` // the server's own word for it
	Task       string           `json:"task,omitempty"`      // that the server made of the call
	InputHash  string           `json:"input_hash"`
	OutputHash string           `json:"output_hash,omitempty"`
}

// NewHistory turns records into calls, in their order.
func NewHistory(records []state.Record) []Call {
	calls := make([]Call, 0, len(records))
	for _, r := range records {
		task := ""
		if r.Remote != nil {
			task = Clean(r.Remote.ID)
		}
		calls = append(calls, Call{
			ServerMS: millis(r.ServerTook), Task: task,
			Time: r.Started, Thread: r.Thread, Step: r.Step, Node: r.Node, Hop: r.Hop, Round: r.Round, Attempt: r.Attempt,
			Capability: r.Capability, Server: r.Server, Endpoint: r.Endpoint, Tool: r.Tool, Effect: r.Effect,
			Status: r.Status, Execution: r.Execution, Code: r.Code, Message: line(r.Message), IsError: r.IsError,
			DurationMS: millis(r.Duration), InputHash: r.InputHash, OutputHash: r.OutputHash,
		})
	}
	return calls
}

// History prints calls as a table.
func History(w io.Writer, calls []Call, s Style) error {
	if len(calls) == 0 {
		_, err := io.WriteString(w, "no calls\n")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := &printer{w: tw}
	p.f("TIME\tTHREAD\tNODE\tSERVER\tTOOL\tTRY\tSTATUS\tMS\t\n")
	for _, c := range calls {
		note := c.Code
		if c.Message != "" {
			note += " " + shorten(c.Message, 60)
		}
		p.f("%s\t%s\t%s\t%s\t%s\t%d\t%s\t%.1f\t%s\n", c.Time.Local().Format("01-02 15:04:05.000"), head(c.Thread), c.Node,
			fallbackWord(Clean(c.Server)), Clean(c.Tool), c.Attempt, ended(c.Status, c.IsError), c.DurationMS, Clean(note))
	}
	if p.err != nil {
		return p.err
	}
	return tw.Flush()
}

// head is the beginning of an id, long enough to tell threads apart.
func head(id string) string {
	if len(id) > 18 {
		return id[:18]
	}
	return id
}

func fallbackWord(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
