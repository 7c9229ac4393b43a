package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"junction/state"
)

var (
	writesScript    = load("writes.lua", true)
	interruptScript = load("interrupt.lua", true)
	answerScript    = load("answer.lua", true)
)

// PutWrites makes one task's writes durable; the first write of a task wins.
func (s *Store) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, records []state.Record) error {
	var p packer
	rs := p.records(records, true)
	data := p.Encode(p.Writes(w))
	if p.Err != nil {
		return fmt.Errorf("thread %s: writes of task %s: %w", l.Thread, w.Task, p.Err)
	}
	return s.putTogether(ctx, l, seq, &taskWrites{task: w.Task, data: data, blobs: p.Blobs, records: rs})
}

// putWrites stores one task's writes.
func (s *Store) putWrites(ctx context.Context, l state.Lease, seq int64, w *taskWrites) error {
	_, err := s.held(ctx, "store the writes of task "+w.task+" of thread "+l.Thread, l, writesScript, s.writesArgs(l, seq, []*taskWrites{w}))
	return err
}

// question is the JSON of an interrupt; what it hides stands elsewhere.
type question struct {
	state.Interrupt
	Answer   *struct{} `json:"answer,omitempty"` // answers come by Answer
	Asked    *struct{} `json:"asked,omitempty"`  // before the JSON
	Answered *struct{} `json:"answered,omitempty"`
}

// PutInterrupt makes a question durable; one that is answered already stays.
func (s *Store) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, records []state.Record) error {
	var p packer
	rs := p.records(records, true)
	i.Value, i.Schema = p.Value(i.Value), p.Value(i.Schema)
	data := p.Encode(question{Interrupt: i})
	if p.Err != nil {
		return fmt.Errorf("thread %s: interrupt %q: %w", l.Thread, i.ID, p.Err)
	}
	asked := "-"
	if !i.Asked.IsZero() {
		asked = strconv.FormatInt(i.Asked.UnixNano(), 10)
	}
	args := append(s.leased(l, 6+2*len(p.Blobs)+6*len(rs)), seq, i.ID, asked, data)
	_, err := s.held(ctx, "store interrupt "+i.ID+" of thread "+l.Thread, l, interruptScript, appendRecords(p.appendBlobs(args), rs))
	return err
}

// Answer stores answers by interrupt id, all or none.
func (s *Store) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	var p packer
	ids := slices.Sorted(maps.Keys(answers))
	args := append(s.retained(3+3*len(ids)), uuid.NewString(), len(ids))
	for _, interrupt := range ids {
		valid := "0"
		if json.Valid(answers[interrupt]) {
			valid = "1"
		}
		args = append(args, interrupt, valid, string(p.Value(answers[interrupt])))
	}
	if p.Err != nil {
		return fmt.Errorf("thread %s: answer: %w", id, p.Err)
	}
	r, _, err := s.run(ctx, "answer thread "+id, id, answerScript, p.appendBlobs(args))
	switch {
	case err != nil:
		return err
	case r.word() == "gone":
		return notFound(id)
	case r.word() == "wrong":
		return state.CheckAnswers(id, answers, func(interrupt string) (known, answered bool) {
			at, _ := slices.BinarySearch(ids, interrupt)
			place := r.text(1 + at)
			return place != "0", place == "2"
		})
	}
	return nil
}
