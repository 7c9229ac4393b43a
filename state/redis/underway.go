package redis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"junction/state"
)

// What is under way lies in one hash: "w:TASK" writes, "i:ID" a question, "a:ID"
// its answer, "r:FIELD" the result of a record ("" where it has none).

// underway reads the writes, questions and answers of [field, value, …].
func (l *loader) underway(fields reply) error {
	l.snap.Pending = make(map[string]state.TaskWrites)
	asked, answers := make(map[string]state.Interrupt), make(map[string]string)
	for i := 0; i+1 < len(fields); i += 2 {
		kind, name, _ := strings.Cut(fields.text(i), ":")
		var err error
		switch value := fields.text(i + 1); kind {
		case "w":
			l.snap.Pending[name], err = l.writes(value)
		case "i":
			asked[name], err = l.question(value)
		case "a":
			answers[name] = value
		}
		if err != nil {
			return fmt.Errorf("what is under way, %s: %w", fields.text(i), l.unreadable(err))
		}
	}
	for id, question := range asked {
		if answer, ok := answers[id]; ok {
			if err := l.answer(&question, answer); err != nil {
				return fmt.Errorf("answer to interrupt %q: %w", id, l.unreadable(err))
			}
		}
		l.snap.Interrupts = append(l.snap.Interrupts, question)
	}
	slices.SortFunc(l.snap.Interrupts, func(a, b state.Interrupt) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

func (l *loader) writes(text string) (w state.TaskWrites, err error) {
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return w, err
	}
	for i := range w.Writes {
		if err := l.In(&w.Writes[i].Value); err != nil {
			return w, err
		}
	}
	for i := range w.Goto {
		if err := l.In(&w.Goto[i].Item); err != nil {
			return w, err
		}
	}
	return w, nil
}

// question reads "TIME\nJSON", the time in Unix ns.
func (l *loader) question(text string) (i state.Interrupt, err error) {
	asked, text, _ := strings.Cut(text, "\n")
	at, err := strconv.ParseInt(asked, 10, 64)
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal([]byte(text), &i); err != nil {
		return i, err
	}
	i.Asked = time.Unix(0, at).UTC()
	if err := l.In(&i.Value); err != nil {
		return i, err
	}
	return i, l.In(&i.Schema)
}

// answer reads "TIME\nJSON", the time in Unix µs.
func (l *loader) answer(i *state.Interrupt, text string) error {
	answered, text, _ := strings.Cut(text, "\n")
	at, err := strconv.ParseInt(answered, 10, 64)
	if err != nil {
		return err
	}
	i.Answer, i.Answered = json.RawMessage(text), unixMicro(at)
	return l.In(&i.Answer)
}

// records reads [field, stored, …], with the results of what is under way.
func (l *loader) records(id string, fields, stored reply) error {
	results := make(map[string]string)
	for i := 0; i+1 < len(fields); i += 2 {
		if kind, field, _ := strings.Cut(fields.text(i), ":"); kind == "r" {
			results[field] = fields.text(i + 1)
		}
	}
	for i := 0; i+1 < len(stored); i += 2 {
		e, err := decodeRecord(id, stored.text(i+1), results[stored.text(i)], l.Value)
		if err != nil {
			return fmt.Errorf("record %s: %w", stored.text(i), l.unreadable(err))
		}
		l.snap.Records = append(l.snap.Records, e.record)
	}
	state.SortRecords(l.snap.Records)
	return nil
}
