package redis

import (
	"fmt"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// commands counts the commands of a store from now on.
func commands(s *Store) (count func() []string) {
	var (
		mu   sync.Mutex
		seen []string
	)
	s.client.AddHook(hook{seen: func(cmd goredis.Cmder) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, cmd.Name())
	}})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := seen
		seen = nil
		return out
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	for _, script := range []*goredis.Script{commitScript, recordsScript, writesScript, loadScript} {
		must(t, script.Load(t.Context(), s.client).Err()) // a server that does not know it costs one more
	}
	count := commands(s)
	t.Run("a commit is one", func(t *testing.T) {
		th.commit(func(c *state.Commit) { c.Records = []state.Record{th.record("h")} })
		equal(t, "commands", count(), []string{"evalsha"})
	})
	t.Run("records are one", func(t *testing.T) {
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("a"), th.record("b")}))
		equal(t, "commands", count(), []string{"evalsha"})
	})
	t.Run("writes are one", func(t *testing.T) {
		must(t, s.PutWrites(t.Context(), th.lease, th.head, state.TaskWrites{Task: "x"}, []state.Record{th.record("c")}))
		equal(t, "commands", count(), []string{"evalsha"})
	})
	t.Run("a commit on a head that was forgotten reads it first", func(t *testing.T) {
		s.heads.forget(th.id)
		th.commit()
		th.commit()
		equal(t, "commands", count(), []string{"lindex", "evalsha", "evalsha"})
	})
	t.Run("a commit after a load is one", func(t *testing.T) {
		s.heads.forget(th.id)
		th.load(0)
		th.commit()
		equal(t, "commands", count(), []string{"evalsha", "evalsha"})
	})
}

// TestHeadOfAnotherThread lets a store remember the head of a thread that is
// deleted and made again, with other channels, up to the same checkpoint.
func TestHeadOfAnotherThread(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	mine, others := open(t, Options{}), open(t, Options{})
	others.prefix = mine.prefix
	old := create(t, mine)
	old.commit()
	must(t, mine.Release(ctx, old.lease))
	old.load(0) // as one looks at a thread before its lease is taken
	must(t, others.DeleteThread(ctx, old.id))
	_, err := others.CreateThread(ctx, state.NewThread{ID: old.id, Set: map[string]jsonText{"log": raw(`"no list"`)}})
	must(t, err)
	theirs := take(t, others, old.id)
	theirs.commit(func(c *state.Commit) { c.Append = nil })
	must(t, others.Release(ctx, theirs.lease))

	again := take(t, mine, old.id)
	if _, ok := mine.heads.find(old.id, again.head); !ok {
		t.Fatal("the head is not remembered: this test shows nothing")
	}
	if _, err := mine.Commit(ctx, again.next()); err == nil {
		t.Error("appended to a last value")
	}
	again.commit(func(c *state.Commit) { c.Append = nil })
	snap := again.load(0)
	equal(t, "channels", snap.Channels, map[string]state.ChannelRef{"log": {Set: 1}, "n": {Set: 3}})
}

func TestAStoreKeepsNothingOfThreadsItGaveBack(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for range 3 {
		th := create(t, s)
		th.commit()
		must(t, s.Release(t.Context(), th.lease))
	}
	equal(t, "threads remembered", []int{len(s.heads.at), s.heads.order.Len()}, []int{0, 0})
	th := create(t, s)
	th.commit()
	stale := th.lease
	stale.Token--
	s.heads.leave(stale)
	equal(t, "of one that is held", len(s.heads.at), 1)
}

func TestHeadsAreBounded(t *testing.T) {
	t.Parallel()
	var h heads
	for i := range 3 * cachedThreads {
		h.saw(fmt.Sprint(i), head{seq: 1, at: int64(i)})
		h.acknowledged("kept", 5, int64(i))
	}
	equal(t, "threads", []int{len(h.at), h.order.Len()}, []int{cachedThreads, cachedThreads})
	equal(t, "the one in use", h.newest(state.Lease{Thread: "kept", Token: 5}), int64(3*cachedThreads-1))
	equal(t, "the same under another lease", h.newest(state.Lease{Thread: "kept", Token: 6}), int64(0))
	if _, ok := h.find("0", 1); ok {
		t.Error("the oldest is still there")
	}
}
