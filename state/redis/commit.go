package redis

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"junction/state"
	"junction/state/crash"
)

var commitScript = load("commit.lua", true)

// commitTries bounds how often a commit reads anew what it follows: once when
// its head was remembered wrong; more only while threads of the same id are made
// and deleted under it.
const commitTries = 4

// Commit advances the head by one superstep, in one script.
func (s *Store) Commit(ctx context.Context, c state.Commit) (state.Checkpoint, error) {
	if err := state.CheckCommit(c); err != nil {
		return state.Checkpoint{}, err
	}
	if err := ctx.Err(); err != nil {
		return state.Checkpoint{}, err
	}
	id := c.Lease.Thread
	if c.WriteID == "" {
		c.WriteID = uuid.NewString() // this call's own, should its reply be lost
	}
	var p packer
	records := p.records(c.Records, false)
	tail := p.Encode(rest{Step: c.Step, Next: p.Tasks(c.Next), Arrived: c.Arrived})
	set, app := p.Values(c.Set), p.Items(c.Append)
	if p.Err != nil {
		return state.Checkpoint{}, fmt.Errorf("commit thread %s: %w", id, p.Err)
	}
	body := body{packer: &p, commit: c, tail: tail, records: records}
	for range commitTries {
		parent, err := s.parent(ctx, id, c.Parent)
		if err != nil {
			return state.Checkpoint{}, err
		}
		change, wrong := state.NewChange(parent.channels, c.Parent+1, set, app)
		r, err := s.commit(ctx, body, parent, change, wrong)
		switch {
		case err != nil:
			return state.Checkpoint{}, err
		case r.word() == "same": // the reply was lost, the commit was not
			s.heads.acknowledged(id, c.Lease.Token, r.number(3))
			return decodeCheckpoint(id, r.text(1), r.number(3), r.text(2), s.unpacker(ctx, id))
		case r.word() == "stale" && wrong != nil && r.number(1) == parent.at:
			return state.Checkpoint{}, fmt.Errorf("commit thread %s: %w", id, wrong)
		case r.word() == "stale":
			s.heads.forget(id)
			continue
		}
		h := head{seq: c.Parent + 1, at: r.number(1), channels: change.Channels}
		s.heads.saw(id, h)
		s.heads.acknowledged(id, c.Lease.Token, h.seq)
		return state.Checkpoint{
			Thread: id, Seq: h.seq, Parent: c.Parent, Lineage: r.text(2), Step: c.Step, Source: "step",
			Channels: h.channels, Next: c.Next, Arrived: c.Arrived, Created: unixMicro(h.at),
		}.Clone(), nil
	}
	return state.Checkpoint{}, fmt.Errorf("commit thread %s: %w: its head changed %d times meanwhile", id, state.ErrConflict, commitTries)
}

// body is what a commit stores whatever it follows.
type body struct {
	*packer
	commit  state.Commit
	tail    string
	records []packedRecord
}

// commit runs the script once. With a wrong change it writes nothing, since no
// head has the time 0: it tells what comes before that fault (the commit was made
// already, the lease is lost, the head is another).
func (s *Store) commit(ctx context.Context, b body, parent head, change state.Change, wrong error) (reply, error) {
	at := parent.at
	if wrong != nil {
		at = 0
	}
	c := b.commit
	args := append(s.leased(c.Lease, 12+2*len(b.Blobs)+6*len(b.records)), c.Parent, at, c.WriteID, c.Step, string(c.Status),
		b.text(change.Channels, b.tail), state.Frame(change.Items), state.FrameValues(change.Values), s.o.Keep)
	args = appendRecords(b.appendBlobs(args), b.records)
	crash.Point("redis.commit.before")
	r, err := s.held(ctx, "commit thread "+c.Lease.Thread, c.Lease, commitScript, args)
	crash.Point("redis.commit.after")
	return r, err
}

// parent returns the head that a commit follows: the one remembered, else the
// newest there is, read now. It is empty when that one is another, or none: the
// script then says which.
func (s *Store) parent(ctx context.Context, id string, seq int64) (head, error) {
	if h, ok := s.heads.find(id, seq); ok {
		return h, nil
	}
	var element string
	err := s.try(ctx, "read the head of thread "+id, func(ctx context.Context, _ int) (err error) {
		element, err = s.client.LIndex(ctx, s.threadKeys(id)[keyHeads], -1).Result()
		if err == goredis.Nil {
			err = nil
		}
		return err
	})
	if err != nil {
		return head{}, s.blameThread(ctx, id, err)
	}
	if element == "" {
		return head{}, nil
	}
	h, _, err := decodeHead(element)
	if err != nil {
		return head{}, fmt.Errorf("thread %s: its head: %w: %w", id, state.ErrCorrupt, err)
	}
	if h.seq != seq {
		return head{}, nil
	}
	s.heads.saw(id, h)
	return h, nil
}
