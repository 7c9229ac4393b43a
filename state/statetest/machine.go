package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"junction/state"
	"junction/state/memory"
)

// sameAsMemory lets a random sequence of operations run against the backend and
// against package memory: both must answer and remember alike.
func sameAsMemory(t *testing.T, open func(t *testing.T) state.Store) {
	store := open(t)
	fewerChecks(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{
			ctx: t.Context(), pair: [2]state.Store{memory.New(nil), store}, workflow: newID(),
			held: map[string][2]state.Lease{}, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		m.create(rt) // or a run of draws that need a thread finds none
		rt.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"create":    m.create,
			"acquire":   m.acquire,
			"release":   m.release,
			"commit":    m.commit,
			"writes":    m.writes,
			"interrupt": m.interrupt,
			"answer":    m.answer,
			"records":   m.records,
			"status":    m.status,
			"cancel":    m.cancel,
			"delete":    m.delete,
		})
	})
}

// fewerChecks asks rapid for a fifth of its default, since each step is a
// transaction on a disk or a server; -rapid.checks asks for more.
func fewerChecks(t *testing.T) {
	const name = "rapid.checks"
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if asked {
		return
	}
	if err := flag.Set(name, "20"); err != nil {
		t.Fatal(err)
	}
}

// machine drives the pair: memory first, then the backend.
type machine struct {
	ctx      context.Context
	pair     [2]state.Store
	workflow string
	ids      []string
	touched  string                    // the thread of the newest operation
	held     map[string][2]state.Lease // the newest lease of each thread, released or not
	clock    time.Time
}

// both runs an operation on each store and wants errors of one kind.
func (m *machine) both(t *rapid.T, what string, op func(i int, s state.Store) error) bool {
	var kinds [2]error
	var errs [2]error
	for i, s := range m.pair {
		errs[i] = op(i, s)
		kinds[i] = kind(errs[i])
	}
	if kinds[0] != kinds[1] {
		t.Fatalf("%s: memory says %v, the backend %v", what, errs[0], errs[1])
	}
	return errs[0] == nil
}

var errOther = errors.New("another error")

func kind(err error) error {
	for _, k := range []error{state.ErrNotFound, state.ErrExists, state.ErrConflict, state.ErrLeaseLost, state.ErrBusy, state.ErrAnswered} {
		if errors.Is(err, k) {
			return k
		}
	}
	if err != nil {
		return errOther
	}
	return nil
}

// some picks a thread, now and then one that was deleted.
func (m *machine) some(t *rapid.T) string {
	m.touched = rapid.SampledFrom(m.ids).Draw(t, "thread")
	return m.touched
}

func (m *machine) leased(t *rapid.T) (string, [2]state.Lease) {
	id := m.some(t)
	l, ok := m.held[id]
	if !ok {
		t.Skip("never leased")
	}
	return id, l
}

var (
	names  = rapid.SampledFrom([]string{"a", "b", "log"})
	values = rapid.SampledFrom([]string{`1`, `null`, `"<x>"`, `{"k":[1,2]}`, `{"$blob":"x"}`})
	lists  = rapid.SampledFrom([]string{`[]`, `[1]`, `["x",{"y":null}]`})
	tasks  = rapid.SampledFrom([]string{"t1", "t2", "t3"})
	few    = rapid.IntRange(0, 2)
)

func drawItems(t *rapid.T) []json.RawMessage {
	out := []json.RawMessage{}
	for range few.Draw(t, "items") {
		out = append(out, raw(values.Draw(t, "item")))
	}
	return out
}

func (m *machine) create(t *rapid.T) {
	n := state.NewThread{ID: newID(), Workflow: m.workflow, Lineage: "l", Append: map[string][]json.RawMessage{"log": drawItems(t)}}
	if len(m.ids) > 0 && rapid.Bool().Draw(t, "again") {
		n.ID = m.some(t) // taken, or free again
	}
	if m.both(t, "create", func(_ int, s state.Store) error { _, err := s.CreateThread(m.ctx, n); return err }) && !slices.Contains(m.ids, n.ID) {
		m.ids, m.touched = append(m.ids, n.ID), n.ID
	}
}

func (m *machine) acquire(t *rapid.T) {
	id := m.some(t)
	var got [2]state.Lease
	if m.both(t, "acquire", func(i int, s state.Store) (err error) {
		got[i], err = s.Acquire(m.ctx, id, "w", time.Hour)
		return err
	}) {
		if old := m.held[id]; got[0].Token <= old[0].Token || got[1].Token <= old[1].Token {
			t.Fatalf("tokens %d, %d after %d, %d", got[0].Token, got[1].Token, old[0].Token, old[1].Token)
		}
		m.equal(t, "cleared requests", got[0].Cancelled, got[1].Cancelled)
		m.held[id] = got
	}
}

func (m *machine) release(t *rapid.T) {
	_, l := m.leased(t)
	m.both(t, "release", func(i int, s state.Store) error { return s.Release(m.ctx, l[i]) })
}

// head is the newest checkpoint, now and then a wrong one.
func (m *machine) head(t *rapid.T, id string) int64 {
	th, err := m.pair[0].Thread(m.ctx, id)
	if err != nil || rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
		return 1
	}
	return th.Head
}

func (m *machine) commit(t *rapid.T) {
	id, l := m.leased(t)
	c := state.Commit{Parent: m.head(t, id), WriteID: newID(), Step: few.Draw(t, "step"), Records: m.drawRecords(t, id), Status: state.StatusRunning}
	for range few.Draw(t, "sets") {
		name, v := names.Draw(t, "set"), values.Draw(t, "value")
		if name == "log" {
			v = lists.Draw(t, "list")
		}
		if c.Set == nil {
			c.Set = map[string]json.RawMessage{}
		}
		c.Set[name] = raw(v)
	}
	if rapid.Bool().Draw(t, "append") {
		c.Append = map[string][]json.RawMessage{names.Draw(t, "to"): drawItems(t)}
	}
	if rapid.Bool().Draw(t, "next") {
		c.Next = []state.Task{{ID: tasks.Draw(t, "task"), Node: "n", Item: raw(values.Draw(t, "item"))}}
		c.Arrived = map[string][]string{"j": {"n"}}
	}
	if rapid.IntRange(0, 9).Draw(t, "complete") == 0 {
		c.Status = state.StatusCompleted
	}
	times := 1 + rapid.IntRange(0, 1).Draw(t, "repeat")
	for range times {
		m.both(t, "commit", func(i int, s state.Store) error {
			mine := c
			mine.Lease = l[i]
			_, err := s.Commit(m.ctx, mine)
			return err
		})
	}
}

func (m *machine) writes(t *rapid.T) {
	id, l := m.leased(t)
	w := state.TaskWrites{Task: tasks.Draw(t, "task"), Writes: []state.Write{{Channel: names.Draw(t, "channel"), Value: raw(values.Draw(t, "value"))}}, Named: rapid.Bool().Draw(t, "named")}
	seq, rs := m.head(t, id), m.drawRecords(t, id)
	m.both(t, "writes", func(i int, s state.Store) error { return s.PutWrites(m.ctx, l[i], seq, w, rs) })
}

func (m *machine) interrupt(t *rapid.T) {
	id, l := m.leased(t)
	q := state.Interrupt{ID: rapid.SampledFrom([]string{"q1", "q2"}).Draw(t, "id"), Task: tasks.Draw(t, "task"), Value: raw(values.Draw(t, "value")), Asked: m.clock}
	seq := m.head(t, id)
	m.both(t, "interrupt", func(i int, s state.Store) error { return s.PutInterrupt(m.ctx, l[i], seq, q, nil) })
}

func (m *machine) answer(t *rapid.T) {
	id := m.some(t)
	answers := map[string]json.RawMessage{}
	for range 1 + few.Draw(t, "answers") {
		answers[rapid.SampledFrom([]string{"q1", "q2", "q3"}).Draw(t, "id")] = raw(values.Draw(t, "answer"))
	}
	m.both(t, "answer", func(_ int, s state.Store) error { return s.Answer(m.ctx, id, answers) })
}

func (m *machine) drawRecords(t *rapid.T, id string) []state.Record {
	var out []state.Record
	for range few.Draw(t, "records") {
		r := record(fmt.Sprint("h", few.Draw(t, "hop")), m.head(t, id))
		r.Attempt, r.Started = 1+few.Draw(t, "attempt"), m.clock
		if rapid.Bool().Draw(t, "outcome") {
			r = success(r, values.Draw(t, "result"))
		}
		m.clock = m.clock.Add(time.Second)
		out = append(out, r)
	}
	return out
}

func (m *machine) records(t *rapid.T) {
	id, l := m.leased(t)
	rs := m.drawRecords(t, id)
	m.both(t, "records", func(i int, s state.Store) error { return s.PutRecords(m.ctx, l[i], rs) })
}

func (m *machine) status(t *rapid.T) {
	id, l := m.leased(t)
	st := rapid.SampledFrom([]state.Status{state.StatusRunning, state.StatusInterrupted, state.StatusFailed, state.StatusCancelled}).Draw(t, "status")
	rs := m.drawRecords(t, id)
	m.both(t, "status", func(i int, s state.Store) error {
		return s.SetStatus(m.ctx, l[i], st, &state.Failure{Code: "c", Message: "m"}, rs)
	})
}

func (m *machine) cancel(t *rapid.T) {
	id := m.some(t)
	m.both(t, "cancel", func(_ int, s state.Store) error { return s.RequestCancel(m.ctx, id) })
}

func (m *machine) delete(t *rapid.T) {
	id := m.some(t)
	m.both(t, "delete", func(_ int, s state.Store) error { return s.DeleteThread(m.ctx, id) })
}

// check compares what both remember, save the times they stamped: the list of
// threads, and everything of the one that was touched.
func (m *machine) check(t *rapid.T) {
	var threads [2][]state.Thread
	for i, s := range m.pair {
		var err error
		if threads[i], err = s.Threads(m.ctx, state.ThreadFilter{Workflow: m.workflow}); err != nil {
			t.Fatal(err)
		}
		for j := range threads[i] {
			threads[i][j].Created, threads[i][j].Updated = time.Time{}, time.Time{}
		}
	}
	m.equal(t, "threads", threads[0], threads[1])
	for _, th := range threads[0] {
		if th.ID != m.touched {
			continue
		}
		// The head, and an older checkpoint that nothing may have changed.
		for _, seq := range []int64{0, 1 + int64(rapid.IntRange(0, int(th.Head)-1).Draw(t, "seq"))} {
			var snaps [2]state.Snapshot
			m.both(t, "load", func(i int, s state.Store) (err error) { snaps[i], err = s.Load(m.ctx, th.ID, seq); return err })
			m.equal(t, fmt.Sprintf("checkpoint %d", seq), unstamped(snaps[0]), unstamped(snaps[1]))
		}
		var recs [2][]state.Record
		m.both(t, "records", func(i int, s state.Store) (err error) {
			recs[i], err = s.Records(m.ctx, state.RecordFilter{Thread: th.ID})
			return err
		})
		m.equal(t, "records", recs[0], recs[1])
	}
}

func (m *machine) equal(t *rapid.T, what string, model, backend any) {
	if d := diff(backend, model); d != "" {
		t.Fatalf("%s differ (−memory +backend):\n%s", what, d)
	}
}

func unstamped(s state.Snapshot) state.Snapshot {
	s.Created = time.Time{}
	for i := range s.Interrupts {
		s.Interrupts[i].Answered = time.Time{}
	}
	return s
}
