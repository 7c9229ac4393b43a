package router_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"junction/router"
	"junction/state"
	"junction/state/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet is a set of scripted servers: discovery and caller in one.
type fleet struct {
	mu        sync.Mutex
	snapshot  *router.Snapshot
	by        map[string]*script
	calls     []sent
	refreshes int
	onRefresh func()
}

// script is what one server does.
type script struct {
	describe func(context.Context) (*router.Description, error)
	tools    []router.Tool
	answer   func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) // n from 1
	n        int
}

type sent struct {
	Server string
	Call   router.ToolCall
	At     time.Time
}

func newFleet() *fleet {
	return &fleet{snapshot: &router.Snapshot{Version: 1, Contracts: map[string]router.Contract{}}, by: map[string]*script{}}
}

// add registers a server with one offer of capability "work" on tool "do".
func (f *fleet) add(id string, change func(*router.Server, *script)) *fleet {
	s := &router.Server{ID: id, Name: id, Dial: router.Dial{URL: "http://" + id}, Source: "file",
		Offers: []router.Offer{{Capability: "work", Tool: "do", Effect: state.Safe}}}
	k := &script{tools: []router.Tool{{Name: "do"}}, answer: answers(id)}
	if change != nil {
		change(s, k)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[id] = k
	next := *f.snapshot
	next.Servers = append(slices.Clone(next.Servers), s)
	slices.SortStableFunc(next.Servers, func(a, b *router.Server) int { return cmp.Compare(a.ID, b.ID) })
	next.Version++
	f.snapshot = &next
	return f
}

// drop takes servers out.
func (f *fleet) drop(gone func(*router.Server) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := *f.snapshot
	next.Servers = slices.DeleteFunc(slices.Clone(next.Servers), gone)
	next.Version++
	f.snapshot = &next
}

func (f *fleet) Snapshot() *router.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snapshot
}

func (f *fleet) Refresh(context.Context) error {
	f.mu.Lock()
	f.refreshes++
	do := f.onRefresh
	f.mu.Unlock()
	if do != nil {
		do()
	}
	return nil
}

func (f *fleet) Describe(ctx context.Context, s *router.Server) (*router.Description, error) {
	f.mu.Lock()
	k := f.by[s.ID]
	f.mu.Unlock()
	if k.describe != nil {
		return k.describe(ctx)
	}
	return &router.Description{Name: s.Name, Tools: k.tools, Session: state.Session{ID: "session-" + s.ID}}, nil
}

func (f *fleet) Call(ctx context.Context, s *router.Server, c router.ToolCall) (*router.ToolResult, error) {
	f.mu.Lock()
	k := f.by[s.ID]
	k.n++
	n := k.n
	f.calls = append(f.calls, sent{s.ID, c, time.Now()})
	f.mu.Unlock()
	return k.answer(ctx, n, c)
}

// servers returns where the calls went, in order.
func (f *fleet) servers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]string, len(f.calls))
	for i, c := range f.calls {
		all[i] = c.Server
	}
	return all
}

type reply = func(context.Context, int, router.ToolCall) (*router.ToolResult, error)

// answers returns structured content that names the server.
func answers(id string) reply {
	return func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{Structured: map[string]any{"by": id}}, nil
	}
}

// fails answers every call with the error.
func fails(e router.CallError) reply {
	return func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
		failure := e
		return nil, &failure
	}
}

// failsFirst fails the first n calls and answers then.
func failsFirst(n int, e router.CallError, id string) reply {
	return func(ctx context.Context, i int, c router.ToolCall) (*router.ToolResult, error) {
		if i <= n {
			return fails(e)(ctx, i, c)
		}
		return answers(id)(ctx, i, c)
	}
}

// takes answers after d, or ends as a call does whose clock runs out.
func takes(d time.Duration, id string) reply {
	return func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
		limit, clock := c.Max, "maximum"
		if c.Idle < c.Max {
			limit, clock = c.Idle, "idle"
		}
		select {
		case <-time.After(d):
			return answers(id)(ctx, n, c)
		case <-time.After(limit):
			return nil, &router.CallError{Code: router.Timeout, Execution: state.Unknown, Clock: clock, Message: "no answer"}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, &router.CallError{Code: router.Timeout, Execution: state.Unknown, Clock: "caller", Message: "no answer"}
			}
			return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown, Message: "cancelled"}
		}
	}
}

// ledgerBook is a store of records that a crash does not lose.
type ledgerBook struct {
	mu      sync.Mutex
	records map[[3]any]state.Record
	order   [][3]any
	fail    error // nothing is stored

	answerLost error // it is stored, but the caller hears this
}

func (b *ledgerBook) PutRecords(_ context.Context, _ state.Lease, records []state.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	if b.records == nil {
		b.records = map[[3]any]state.Record{}
	}
	for _, r := range records {
		k := [3]any{r.Hop, r.Round, r.Attempt}
		if _, known := b.records[k]; !known {
			b.order = append(b.order, k)
		}
		b.records[k] = r
	}
	return b.answerLost
}

func (b *ledgerBook) Records(context.Context, state.RecordFilter) ([]state.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]state.Record, 0, len(b.order))
	for _, k := range b.order {
		all = append(all, b.records[k])
	}
	return all, nil
}

// person answers questions; without an answer the thread pauses.
type person struct {
	mu    sync.Mutex
	asked []asked
	say   func(q asked) string // "" leaves the question open
}

type asked struct {
	Name     string
	Question map[string]any
	Schema   map[string]any
}

// choices are what the question offers.
func (a asked) choices() []any {
	return a.Schema["properties"].(map[string]any)["choice"].(map[string]any)["enum"].([]any)
}

var errPaused = errors.New("the thread pauses")

func (p *person) ask(_ context.Context, name string, question, form any) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, err := json.Marshal(form)
	if err == nil {
		_, err = schema.Compile(raw) // a graph refuses another
	}
	if err != nil {
		return nil, err
	}
	q := asked{name, question.(map[string]any), form.(map[string]any)}
	p.asked = append(p.asked, q)
	if p.say == nil {
		return nil, errPaused
	}
	if text := p.say(q); text != "" {
		return json.RawMessage(text), nil
	}
	return nil, errPaused
}

// task is one run of a task under a journal.
type task struct {
	book   *ledgerBook
	person *person
	prior  []state.Record
}

func (k task) context(t *testing.T) (context.Context, *state.Journal) {
	t.Helper()
	o := state.JournalOptions{Prior: k.prior}
	if k.book != nil {
		o.Store, o.Lease = k.book, func() state.Lease { return state.Lease{} }
		if k.prior == nil {
			var err error
			if o.Prior, err = k.book.Records(t.Context(), state.RecordFilter{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if k.person != nil {
		o.Ask = k.person.ask
	}
	j := state.NewJournal(state.Scope{Thread: "t", Lineage: "l", Seq: 1, Task: "k", Node: "work"}, o)
	return state.WithJournal(t.Context(), j), j
}

// inBubble runs f in a bubble of fake time with a router over the fleet.
func inBubble(t *testing.T, f *fleet, o router.Options, run func(t *testing.T, r *router.Router)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.Seed == 0 {
			o.Seed = 7
		}
		r := router.New(f, f, &o)
		defer r.Close()
		run(t, r)
	})
}

var work = state.Call{Capability: "work", With: map[string]any{"x": int64(1)}}

func effect(e state.Effect) func(*router.Server, *script) {
	return func(s *router.Server, _ *script) { s.Offers[0].Effect = e }
}

func statuses(rs []state.Record) []string {
	var all []string
	for _, r := range rs {
		all = append(all, fmt.Sprintf("%d %s %s %s %s", r.Attempt, r.Server, r.Status, r.Execution, r.Code))
	}
	return all
}

// pass lets bubble time pass.
func pass(d time.Duration) { <-time.After(d) }
