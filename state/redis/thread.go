package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/google/uuid"

	"junction/state"
	"junction/state/crash"
)

var (
	createScript = load("create.lua", true)
	cancelScript = load("cancel.lua", true)
	reopenScript = load("reopen.lua", true)
	statusScript = load("status.lua", true)
)

// CreateThread stores a thread and its first checkpoint: first its entry in the
// index, then itself.
func (s *Store) CreateThread(ctx context.Context, n state.NewThread) (state.Thread, error) {
	if err := ctx.Err(); err != nil {
		return state.Thread{}, err
	}
	if n.ID == "" {
		return state.Thread{}, errors.New("create thread: it needs an id")
	}
	args, change, err := s.creation(n)
	if err != nil {
		return state.Thread{}, fmt.Errorf("create thread %s: %w", n.ID, err)
	}
	if err := s.enter(ctx, n.ID); err != nil {
		return state.Thread{}, err
	}
	crash.Point("redis.create.entered")
	r, _, err := s.run(ctx, "create thread "+n.ID, n.ID, createScript, args)
	if err != nil {
		return state.Thread{}, err
	}
	if r.word() == "exists" {
		return state.Thread{}, exists(n.ID)
	}
	s.heads.saw(n.ID, head{seq: 1, at: r.number(1), channels: change.Channels})
	created := unixMicro(r.number(1))
	return state.Thread{
		ID: n.ID, Workflow: n.Workflow, Version: n.Version, Definition: n.Definition, Meta: maps.Clone(n.Meta),
		Status: state.StatusPending, Head: 1, Created: created, Updated: created,
	}, nil
}

func exists(id string) error { return fmt.Errorf("thread %s: %w", id, state.ErrExists) }

// creation is the arguments of the script that makes a thread.
func (s *Store) creation(n state.NewThread) ([]any, state.Change, error) {
	var p packer
	change, err := state.NewChange(nil, 1, p.Values(n.Set), p.Items(n.Append))
	if err != nil {
		return nil, change, err
	}
	tail := p.Encode(rest{Next: p.Tasks(n.Next)})
	for _, data := range n.Blobs {
		p.Blob(state.Hash(data), data)
	}
	fields := []any{"workflow", n.Workflow, "version", n.Version, "definition", n.Definition, "lineage", n.Lineage, "meta", p.Encode(n.Meta)}
	args := append(s.retained(7+len(fields)+2*len(p.Blobs)),
		uuid.NewString(), p.text(change.Channels, tail), state.Frame(change.Items), state.FrameValues(change.Values), len(fields)/2)
	return p.appendBlobs(append(args, fields...)), change, p.Err
}

// threadFields are the fields of the hash that decodeThread takes, in its order.
var threadFields = []string{"workflow", "version", "definition", "meta", "status", "failure", "head", "step", "cancel", "created", "updated", "waiting"}

// decodeThread reads the values of threadFields; ok is false when there is no
// such thread.
func decodeThread(id string, v reply) (th state.Thread, ok bool, err error) {
	if v.text(4) == "" {
		return th, false, nil
	}
	th = state.Thread{
		ID: id, Workflow: v.text(0), Version: v.text(1), Definition: v.text(2), Status: state.Status(v.text(4)),
		Head: v.number(6), Step: int(v.number(7)), Cancel: v.text(8) == "1",
		Created: unixMicro(v.number(9)), Updated: unixMicro(v.number(10)), Waiting: int(v.number(11)),
	}
	if err := json.Unmarshal([]byte(v.text(3)), &th.Meta); err != nil {
		return th, false, fmt.Errorf("thread %s: its meta: %w: %w", id, state.ErrCorrupt, err)
	}
	if failure := v.text(5); failure != "" {
		if err := json.Unmarshal([]byte(failure), &th.Failure); err != nil {
			return th, false, fmt.Errorf("thread %s: its failure: %w: %w", id, state.ErrCorrupt, err)
		}
	}
	for _, i := range []int{6, 7, 9, 10, 11} {
		if _, err := strconv.ParseInt(v.text(i), 10, 64); err != nil {
			return th, false, fmt.Errorf("thread %s: its field %s: %w: %w", id, threadFields[i], state.ErrCorrupt, err)
		}
	}
	return th, true, nil
}

// Thread returns one thread.
func (s *Store) Thread(ctx context.Context, id string) (state.Thread, error) {
	v, err := s.fields(ctx, "read thread "+id, id, threadFields...)
	if err != nil {
		return state.Thread{}, err
	}
	th, ok, err := decodeThread(id, v)
	if err == nil && !ok {
		err = notFound(id)
	}
	return th, err
}

// fields reads fields of a thread's hash; those that are not there are nil.
func (s *Store) fields(ctx context.Context, what, id string, names ...string) (v reply, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.try(ctx, what, func(ctx context.Context, _ int) (err error) {
		v, err = s.client.HMGet(ctx, s.threadKeys(id)[keyThread], names...).Result()
		return err
	})
	if err != nil {
		return nil, s.blameThread(ctx, id, err)
	}
	return v, nil
}

// RequestCancel asks whoever runs the thread to stop.
func (s *Store) RequestCancel(ctx context.Context, id string) error {
	r, _, err := s.run(ctx, "cancel thread "+id, id, cancelScript, append(s.retained(2), s.cancelChannel(), id))
	if err == nil && r.word() == "gone" {
		err = notFound(id)
	}
	return err
}

// CancelRequested says whether the thread was asked to stop.
func (s *Store) CancelRequested(ctx context.Context, id string) (bool, error) {
	v, err := s.fields(ctx, "ask whether thread "+id+" is to stop", id, "cancel")
	if err == nil && v.text(0) == "" {
		err = notFound(id)
	}
	return v.text(0) == "1", err
}

// Reopen makes a stopped thread that nobody runs pending.
func (s *Store) Reopen(ctx context.Context, id string) (state.Thread, error) {
	args := s.retained(len(threadFields))
	for _, f := range threadFields {
		args = append(args, f)
	}
	r, _, err := s.run(ctx, "reopen thread "+id, id, reopenScript, args)
	if err != nil {
		return state.Thread{}, err
	}
	th, ok, err := decodeThread(id, r[1:])
	if err == nil && !ok {
		err = notFound(id)
	}
	return th, err
}

// SetStatus records a stop, or that work begins again.
func (s *Store) SetStatus(ctx context.Context, l state.Lease, status state.Status, f *state.Failure, records []state.Record) error {
	var (
		p       packer
		failure string
	)
	rs := p.records(records, true)
	if f != nil && status != state.StatusRunning {
		failure = p.Encode(f)
	}
	if p.Err != nil {
		return fmt.Errorf("thread %s: %w", l.Thread, p.Err)
	}
	args := append(s.leased(l, 4+2*len(p.Blobs)+6*len(rs)), string(status), failure)
	_, err := s.held(ctx, "set the status of thread "+l.Thread, l, statusScript, appendRecords(p.appendBlobs(args), rs))
	return err
}
