package view

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"junction/state"
)

// Thread is a thread as threads lists it.
type Thread struct {
	state.Thread
	Questions []Question `json:"questions,omitempty"`
}

// ListThreads adds the questions that wait. before is an earlier list of the
// same threads: what has not changed since is not read again.
func ListThreads(ctx context.Context, store state.Store, threads []state.Thread, before []Thread) ([]Thread, error) {
	known := make(map[string]Thread, len(before))
	for _, t := range before {
		known[t.ID] = t
	}
	listed := make([]Thread, 0, len(threads))
	for _, t := range threads {
		l := Thread{Thread: t}
		if old, ok := known[t.ID]; ok && old.Updated.Equal(t.Updated) && old.Waiting == t.Waiting {
			l.Questions = old.Questions
		} else if t.Waiting > 0 {
			snap, err := store.Load(ctx, t.ID, 0)
			if err != nil {
				return nil, err
			}
			for _, i := range snap.Interrupts {
				if i.Answer == nil {
					l.Questions = append(l.Questions, Question{ID: i.ID, Node: i.Node, Value: i.Value, Schema: i.Schema})
				}
			}
		}
		listed = append(listed, l)
	}
	return listed, nil
}

// ThreadLine is one line on where a thread stands, its questions included.
func ThreadLine(t Thread) string {
	text := fmt.Sprintf("%s  %s  %s  %s  step %d", t.Updated.Local().Format(time.TimeOnly), t.ID, Clean(t.Workflow), t.Status, t.Step)
	if t.Failure != nil {
		text += "  " + t.note()
	}
	for _, q := range t.Questions {
		text += fmt.Sprintf("\n  ? %s  %s: %s", q.ID, q.Node, shorten(questionText(q.Value), 80))
	}
	return text
}

func (t Thread) note() string {
	return shorten(at(t.Failure.Node)+t.Failure.Code+": "+line(reason(t.Failure.Node, t.Failure.Message)), 90)
}

// Threads prints a table, each thread's questions below it.
func Threads(w io.Writer, threads []Thread, s Style) error {
	if len(threads) == 0 {
		_, err := io.WriteString(w, "no threads\n")
		return err
	}
	var table bytes.Buffer
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	p := &printer{w: tw}
	p.f("THREAD\tWORKFLOW\tSTATUS\tSTEP\tUPDATED\t\n")
	for _, t := range threads {
		note := ""
		if t.Failure != nil {
			note = t.note()
		}
		p.f("%s\t%s\t%s\t%d\t%s\t%s\n", t.ID, Clean(t.Workflow), t.Status, t.Step, t.Updated.Local().Format(time.DateTime), note)
	}
	if p.err != nil {
		return p.err
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	// The questions stand below their threads and outside of the columns.
	rows := &printer{w: w}
	lines := strings.SplitAfter(table.String(), "\n")
	rows.f("%s\n", strings.TrimRight(lines[0], " \n"))
	for i, t := range threads {
		rows.f("%s\n", strings.TrimRight(lines[i+1], " \n"))
		for _, q := range t.Questions {
			rows.f("  ? %s  %s: %s\n", q.ID, q.Node, shorten(questionText(q.Value), 80))
		}
	}
	return rows.err
}
