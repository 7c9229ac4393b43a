package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"junction/state"
)

// maxSeq is the highest sequence number of a thread: the low half of a commit's key.
const maxSeq = 1<<32 - 1

// commitKey is the key of a checkpoint's row.
func commitKey(t, seq int64) int64 { return t<<32 | seq }

// headRow is the column head of a commit, as JSON.
type headRow struct {
	Parent   int64                       `json:"parent,omitempty"`
	Step     int                         `json:"step,omitempty"`
	Source   string                      `json:"source"`
	Created  int64                       `json:"at"` // Unix ns
	Channels map[string]state.ChannelRef `json:"ch,omitempty"`
	Next     []state.Task                `json:"next,omitempty"`
	Arrived  map[string][]string         `json:"arrived,omitempty"`
}

// putCommit inserts a checkpoint's row with the packed values it adds.
func (x *tx) putCommit(t int64, cp state.Checkpoint, head headRow, change state.Change) error {
	head.Parent, head.Created, head.Channels = cp.Parent, x.now.UnixNano(), change.Channels
	var p packer
	text := p.Encode(head)
	if p.Err != nil {
		return p.Err
	}
	return x.exec(`INSERT INTO commits (id, logs, head, vals) VALUES (?, ?, ?, ?)`, commitKey(t, cp.Seq), state.Frame(change.Items), text, state.FrameValues(change.Values))
}

// Commit advances the head by one superstep, in one transaction.
func (s *Store) Commit(ctx context.Context, c state.Commit) (state.Checkpoint, error) {
	if err := state.CheckCommit(c); err != nil {
		return state.Checkpoint{}, err
	}
	// Large values are hashed and compressed here, not while others wait for the
	// transaction.
	var pack packer
	rs := pack.records(c.Records)
	next := state.Checkpoint{Thread: c.Lease.Thread, Seq: c.Parent + 1, Parent: c.Parent, Step: c.Step, Source: "step", Next: c.Next, Arrived: c.Arrived}
	head := pack.head(next)
	c.Set, c.Append = pack.Values(c.Set), pack.Items(c.Append)
	if pack.Err != nil {
		return state.Checkpoint{}, fmt.Errorf("commit thread %s: %w", c.Lease.Thread, pack.Err)
	}
	err := s.write.run(ctx, func(x *tx) error {
		r, err := x.leased(c.Lease)
		if err != nil {
			return err
		}
		if c.WriteID != "" && c.WriteID == r.writeID {
			next, err = x.checkpoint(r) // the reply was lost, the commit was not
			return err
		}
		if err := r.lease.check(c.Lease, x.now); err != nil {
			return err
		}
		if err := r.underway(c.Parent); err != nil {
			return err
		}
		next.Lineage, next.Created = r.lineage, unixTime(x.now.UnixNano())
		return x.commit(r, c, &next, head, &pack, rs)
	})
	if err != nil {
		return state.Checkpoint{}, err
	}
	return next.Clone(), nil
}

// commit writes what a commit adds and ends what was pending.
func (x *tx) commit(r row, c state.Commit, next *state.Checkpoint, head headRow, pack *packer, rs []packedRecord) error {
	parent, err := x.head(r)
	if err != nil {
		return err
	}
	change, err := state.NewChange(parent.Channels, next.Seq, c.Set, c.Append)
	if err != nil {
		return fmt.Errorf("commit thread %s: %w", r.id, err)
	}
	next.Channels = change.Channels
	r.head = next.Seq // the records' superstep is over: their results are not kept
	if err := x.putRecords(r, pack, rs); err != nil {
		return err
	}
	if err := x.endPending(r.t); err != nil {
		return err
	}
	if err := x.putCommit(r.t, *next, head, change); err != nil {
		return err
	}
	return x.exec(`UPDATE threads SET head = ?, step = ?, status = ?, failure = NULL, write_id = ?, updated = ? WHERE t = ?`,
		next.Seq, next.Step, c.Status, c.WriteID, x.now.UnixNano(), r.t)
}

// endPending removes what the superstep under way had reached. Most have left
// nothing: their one task's writes rode in the commit.
func (x *tx) endPending(t int64) error {
	var some bool
	if err := x.queryRow(`SELECT EXISTS (SELECT 1 FROM writes WHERE t = ?1) OR EXISTS (SELECT 1 FROM interrupts WHERE t = ?1)
		OR EXISTS (SELECT 1 FROM results WHERE t = ?1)`, []any{t}, &some); err != nil || !some {
		return err
	}
	for _, table := range []string{"writes", "interrupts", "results"} {
		if err := x.exec(`DELETE FROM `+table+` WHERE t = ?`, t); err != nil {
			return err
		}
	}
	return nil
}

// head reads the column head of a thread's newest commit.
func (x *tx) head(r row) (h headRow, err error) {
	var text []byte
	if err := x.queryRow(`SELECT head FROM commits WHERE id = ?`, []any{commitKey(r.t, r.head)}, &text); err != nil {
		return h, fmt.Errorf("thread %s: checkpoint %d: %w", r.id, r.head, err)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("thread %s: checkpoint %d: %w: %w", r.id, r.head, state.ErrCorrupt, err)
	}
	return h, nil
}

// checkpoint reads the head of a thread inside the transaction.
func (x *tx) checkpoint(r row) (state.Checkpoint, error) {
	h, err := x.head(r)
	if err != nil {
		return state.Checkpoint{}, err
	}
	u := state.Unpacker{Fetch: func(hash string) ([]byte, error) {
		return readBlob(hash, func(into ...any) error {
			return x.queryRow(`SELECT data FROM blobs WHERE t = ? AND hash = ?`, []any{r.t, hash}, into...)
		})
	}}
	return h.checkpoint(r.id, r.lineage, r.head, &u)
}

// decodeHead turns a row's column head into the checkpoint.
func decodeHead(id, lineage string, seq int64, text []byte, u *state.Unpacker) (state.Checkpoint, error) {
	var h headRow
	if err := json.Unmarshal(text, &h); err != nil {
		return state.Checkpoint{}, fmt.Errorf("checkpoint %d: %w: %w", seq, state.ErrCorrupt, err)
	}
	return h.checkpoint(id, lineage, seq, u)
}

func (h headRow) checkpoint(id, lineage string, seq int64, u *state.Unpacker) (state.Checkpoint, error) {
	for i := range h.Next {
		if err := u.In(&h.Next[i].Item); err != nil {
			return state.Checkpoint{}, fmt.Errorf("checkpoint %d: task %s: %w", seq, h.Next[i].ID, err)
		}
	}
	return state.Checkpoint{
		Thread: id, Seq: seq, Parent: h.Parent, Lineage: lineage, Step: h.Step, Source: h.Source,
		Channels: h.Channels, Next: h.Next, Arrived: h.Arrived, Created: unixTime(h.Created),
	}, nil
}
