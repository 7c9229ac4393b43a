package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"junction/state"
)

// pause waits up to most, or until the client is to end.
func (c *client) pause(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(time.Duration(c.draw.Int64N(int64(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// holding is what a client believes of a thread: that it holds it, and where the
// thread stands.
type holding struct {
	lease state.Lease
	head  int64
	made  state.Commit // the newest commit
}

// turn takes a thread, works on it, and lets it go one way or another.
func (c *client) turn(ctx context.Context) {
	thread := c.Threads[c.draw.IntN(len(c.Threads))]
	h, ok := c.acquire(thread)
	if !ok {
		c.look(thread)
		c.pause(ctx, 60*time.Millisecond)
		return
	}
	if h.head = c.load(thread); h.head == 0 {
		return
	}
	for range 3 + c.draw.IntN(6) {
		c.work(&h)
		c.pause(ctx, 5*time.Millisecond)
	}
	switch c.draw.IntN(6) {
	case 0: // left to run out
	case 1, 2: // overslept
		c.pause(ctx, 3*h.lease.TTL)
		c.work(&h)
		c.work(&h)
	case 3:
		c.release(h)
		c.work(&h)
		c.pause(ctx, 20*time.Millisecond)
		c.work(&h)
	default:
		c.release(h)
	}
	c.pause(ctx, 20*time.Millisecond)
}

// work is one operation, also when the lease is lost by now.
func (c *client) work(h *holding) {
	switch c.draw.IntN(8) {
	case 0:
		c.renew(h)
	case 1:
		c.look(h.lease.Thread)
	case 2:
		c.commit(h)
	case 3:
		c.again(h)
	default:
		c.record(h)
	}
}

func (c *client) acquire(thread string) (holding, bool) {
	var h holding
	ttl := time.Duration(200+c.draw.IntN(200)) * time.Millisecond
	a := c.ask(request{Op: opAcquire, Thread: thread, TTL: ttl}, func(ctx context.Context, a *answer) (err error) {
		h.lease, err = c.s.Acquire(ctx, thread, c.Name, ttl)
		a.Token = h.lease.Token
		return err
	})
	return h, a.End == endOK
}

func (c *client) renew(h *holding) {
	h.lease.TTL = time.Duration(200+c.draw.IntN(200)) * time.Millisecond
	c.ask(request{Op: opRenew, Thread: h.lease.Thread, Token: h.lease.Token, TTL: h.lease.TTL}, func(ctx context.Context, _ *answer) error {
		_, err := c.s.Renew(ctx, h.lease)
		return err
	})
}

func (c *client) release(h holding) {
	c.ask(request{Op: opRelease, Thread: h.lease.Thread, Token: h.lease.Token}, func(ctx context.Context, _ *answer) error {
		return c.s.Release(ctx, h.lease)
	})
}

// record writes one or two records: intents, failures and final successes of the
// same few attempts, in any order.
func (c *client) record(h *holding) {
	records := []entered{c.entered(h.head)}
	if c.draw.IntN(3) == 0 {
		records = append(records, c.entered(h.head))
	}
	r := request{Op: opRecords, Thread: h.lease.Thread, Token: h.lease.Token, Records: records}
	c.ask(r, func(ctx context.Context, _ *answer) error { return c.s.PutRecords(ctx, h.lease, stateRecords(records)) })
}

func (c *client) entered(seq int64) entered {
	e := entered{
		Seq: seq, Hop: fmt.Sprint("h", c.draw.IntN(2)), Attempt: 1 + c.draw.IntN(2),
		Status: string(state.CallOpen), Mark: fmt.Sprintf("%s.%d.%d", c.Name, c.count, c.draw.IntN(1000)),
	}
	switch c.draw.IntN(5) {
	case 0, 1:
		e.Status = string(state.CallError)
	case 2:
		e.Status, e.Final, e.Result = string(state.CallSuccess), true, `"`+e.Mark+`"`
	}
	return e
}

// commit advances the thread, at times with a record on board.
func (c *client) commit(h *holding) {
	var records []entered
	if c.draw.IntN(3) == 0 {
		records = append(records, c.entered(h.head))
	}
	c.count++
	id := fmt.Sprintf("%s.c%d", c.Name, c.count)
	text, _ := json.Marshal(id) //nolint:errchkjson // a string
	h.made = state.Commit{
		Lease: h.lease, Parent: h.head, WriteID: id, Step: int(h.head), Status: state.StatusRunning, Records: stateRecords(records),
		Set: map[string]json.RawMessage{"last": text}, Append: map[string][]json.RawMessage{"log": {text}},
	}
	c.send(h, records)
}

// again makes the newest commit once more.
func (c *client) again(h *holding) {
	if h.made.WriteID != "" {
		c.send(h, entries(h.made.Records))
	}
}

func (c *client) send(h *holding, records []entered) {
	m := h.made
	r := request{Op: opCommit, Thread: m.Lease.Thread, ID: m.WriteID, Token: m.Lease.Token, Parent: m.Parent, Records: records}
	a := c.ask(r, func(ctx context.Context, a *answer) error {
		cp, err := c.s.Commit(ctx, m)
		a.Head = cp.Seq
		return err
	})
	if a.End == endOK {
		h.head = a.Head
	}
}

// look reads what anybody may read.
func (c *client) look(thread string) {
	if c.draw.IntN(2) == 0 {
		c.load(thread)
		return
	}
	c.ask(request{Op: opList, Thread: thread}, func(ctx context.Context, a *answer) error {
		rs, err := c.s.Records(ctx, state.RecordFilter{Thread: thread})
		a.Records = entries(rs)
		return err
	})
}

// load returns the head, 0 when it could not be read.
func (c *client) load(thread string) int64 {
	a := c.ask(request{Op: opLoad, Thread: thread}, func(ctx context.Context, a *answer) error {
		snap, err := c.s.Load(ctx, thread, 0)
		if err != nil {
			return err
		}
		a.Head, a.Records = snap.Seq, entries(snap.Records)
		for _, item := range snap.Logs["log"] {
			var id string
			if err := json.Unmarshal(item, &id); err != nil {
				return err
			}
			a.Log = append(a.Log, id)
		}
		if last := snap.Values["last"]; last != nil {
			return json.Unmarshal(last, &a.Last)
		}
		return nil
	})
	return a.Head
}

// stateRecords are the records of a store that stand for those of a trial, entries the
// other way round, in the model's order.
func stateRecords(es []entered) []state.Record {
	out := make([]state.Record, len(es))
	for i, e := range es {
		out[i] = state.Record{
			Seq: e.Seq, Task: "task", Node: "node", Hop: e.Hop, Name: e.Hop, Round: 1, Attempt: e.Attempt, Effect: state.Unsafe,
			InputHash: "in", Status: state.CallStatus(e.Status), Final: e.Final, Message: e.Mark,
		}
		if e.Result != "" {
			out[i].Result = json.RawMessage(e.Result)
		}
	}
	return out
}

func entries(rs []state.Record) []entered {
	var out []entered
	for _, r := range rs {
		out = append(out, entered{r.Seq, r.Hop, r.Attempt, string(r.Status), r.Final, r.Message, string(r.Result)})
	}
	slices.SortStableFunc(out, entered.compare)
	return out
}
