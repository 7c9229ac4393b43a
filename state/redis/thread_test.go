package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// thread is a thread of a test with its lease.
type thread struct {
	t     testing.TB
	s     *Store
	id    string
	lease state.Lease
	head  int64
}

// jsonText is short for what values are.
type jsonText = json.RawMessage

func raw(text string) jsonText { return jsonText(text) }

// large is a JSON string of about so many bytes, which compresses as source does.
func large(size int) jsonText {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "+ line %d of what has changed: %08x\\n", i, random.Uint32())
	}
	b.WriteByte('"')
	return jsonText(b.String())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("error is %v, want %v", err, w)
		}
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s differs (−want +got):\n%s", what, d)
	}
}

// create makes a thread with a last value "n" and a log "log", and takes it.
func create(t testing.TB, s *Store) *thread {
	t.Helper()
	id := uuid.NewString()
	_, err := s.CreateThread(t.Context(), state.NewThread{
		ID: id, Workflow: "w", Lineage: "main",
		Set: map[string]json.RawMessage{"n": raw(`0`)}, Append: map[string][]json.RawMessage{"log": {raw(`0`)}},
		Next: []state.Task{{ID: "task", Node: "node"}},
	})
	must(t, err)
	return take(t, s, id)
}

// take acquires a thread that is there.
func take(t testing.TB, s *Store, id string) *thread {
	t.Helper()
	l, err := s.Acquire(t.Context(), id, "worker", time.Minute)
	must(t, err)
	th, err := s.Thread(t.Context(), id)
	must(t, err)
	return &thread{t: t, s: s, id: id, lease: l, head: th.Head}
}

// next is a commit that follows the head, sets n and adds to the log.
func (th *thread) next() state.Commit {
	return state.Commit{
		Lease: th.lease, Parent: th.head, WriteID: uuid.NewString(), Step: int(th.head), Status: state.StatusRunning,
		Set:    map[string]json.RawMessage{"n": raw(fmt.Sprint(th.head))},
		Append: map[string][]json.RawMessage{"log": {raw(fmt.Sprint(th.head))}},
		Next:   []state.Task{{ID: fmt.Sprint("task-", th.head), Node: "node"}},
	}
}

func (th *thread) commit(change ...func(*state.Commit)) state.Checkpoint {
	th.t.Helper()
	c := th.next()
	for _, f := range change {
		f(&c)
	}
	cp, err := th.s.Commit(th.t.Context(), c)
	must(th.t, err)
	th.head = cp.Seq
	return cp
}

// fill puts something into every key of the thread.
func (th *thread) fill() {
	th.t.Helper()
	ctx := th.t.Context()
	r := th.record("hop")
	r.Status, r.Final, r.Result = state.CallSuccess, true, raw(`"result"`)
	must(th.t, th.s.PutWrites(ctx, th.lease, th.head, state.TaskWrites{Task: "task"}, []state.Record{r}))
	must(th.t, th.s.PutInterrupt(ctx, th.lease, th.head, state.Interrupt{ID: "q", Task: "other", Value: raw(`"?"`)}, nil))
	must(th.t, th.s.PutSession(ctx, th.lease, state.Session{ID: "session"}))
	_, err := th.s.PutBlob(ctx, th.lease, []byte("blob"))
	must(th.t, err)
}

func (th *thread) record(hop string) state.Record {
	return state.Record{Seq: th.head, Task: "task", Node: "node", Hop: hop, Name: "1", Round: 1, Attempt: 1, Server: "srv", Effect: state.Unsafe, InputHash: "in", Status: state.CallOpen}
}

func (th *thread) load(seq int64) state.Snapshot {
	th.t.Helper()
	snap, err := th.s.Load(th.t.Context(), th.id, seq)
	must(th.t, err)
	return snap
}

// key is one of the thread's keys.
func (th *thread) key(place int) string { return th.s.threadKeys(th.id)[place] }

// keys lists what the store has in Redis, in order.
func keys(t testing.TB, s *Store) []string {
	t.Helper()
	var out []string
	it := s.client.Scan(t.Context(), 0, s.prefix+":*", 1000).Iterator()
	for it.Next(t.Context()) {
		out = append(out, it.Val())
	}
	must(t, it.Err())
	slices.Sort(out)
	return out
}

// hook looks at every script call, or at every command, of a store's client.
type hook struct {
	// script is called for each call of a script instead of it; call makes it,
	// as often as wanted.
	script func(ctx context.Context, cmd goredis.Cmder, call func() error) error
	// seen is called with each command, those of pipelines too.
	seen func(cmd goredis.Cmder)
}

func (h hook) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h hook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if h.seen != nil {
			h.seen(cmd)
		}
		if h.script == nil || !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		return h.script(ctx, cmd, func() error { return next(ctx, cmd) })
	}
}

func (h hook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if h.seen != nil {
			for _, cmd := range cmds {
				h.seen(cmd)
			}
		}
		return next(ctx, cmds)
	}
}

// calls says whether a command is a call of this script.
func calls(cmd goredis.Cmder, script *goredis.Script) bool {
	return len(cmd.Args()) > 1 && cmd.Name() == "evalsha" && cmd.Args()[1] == script.Hash()
}
