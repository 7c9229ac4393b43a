package redis

import (
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

func ids(t *testing.T, s *Store, f state.ThreadFilter) (out []string) {
	t.Helper()
	list, err := s.Threads(t.Context(), f)
	must(t, err)
	for _, th := range list {
		out = append(out, th.ID)
	}
	return out
}

func TestListOfManyThreads(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx := t.Context()
	const n = 2*pageSize + 50
	var want []string
	for i := range n {
		id := fmt.Sprintf("t%04d", i)
		_, err := s.CreateThread(ctx, state.NewThread{ID: id, Workflow: fmt.Sprint("w", i%2)})
		must(t, err)
		want = append([]string{id}, want...)
	}
	t.Run("is newest first, each once, in a few round trips", func(t *testing.T) {
		count := commands(s)
		equal(t, "threads", ids(t, s, state.ThreadFilter{}), want)
		lists := 0
		for _, c := range count() {
			if c == "zrange" {
				lists++
			}
		}
		if lists > n/pageSize+2 {
			t.Errorf("%d pages for %d threads", lists, n)
		}
	})
	t.Run("obeys its limit before and after the filter", func(t *testing.T) {
		equal(t, "newest two", ids(t, s, state.ThreadFilter{Limit: 2}), want[:2])
		equal(t, "of a workflow", ids(t, s, state.ThreadFilter{Workflow: "w1", Limit: 2}), []string{want[0], want[2]})
		equal(t, "last of a workflow", len(ids(t, s, state.ThreadFilter{Workflow: "w0"})), n/2)
	})
	t.Run("threads of one moment are each listed once, though they fill pages", func(t *testing.T) {
		for _, id := range want {
			must(t, s.client.ZAdd(ctx, s.indexKey(), goredis.Z{Score: 5, Member: id}).Err())
		}
		equal(t, "threads", ids(t, s, state.ThreadFilter{}), want)
	})
}

func TestEntryWithoutAThread(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dangle := func(t *testing.T, s *Store, age time.Duration) {
		t.Helper()
		now, err := s.client.Time(ctx).Result()
		must(t, err)
		must(t, s.client.ZAdd(ctx, s.indexKey(), goredis.Z{Score: float64(now.Add(-age).UnixMicro()), Member: "dangling"}).Err())
	}
	t.Run("is no thread", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		th := create(t, s)
		th.fill()
		dangle(t, s, time.Hour)
		equal(t, "threads", ids(t, s, state.ThreadFilter{}), []string{th.id})
		rs, err := s.Records(ctx, state.RecordFilter{})
		must(t, err)
		equal(t, "records", len(rs), 1)
		wantErr(t, s.DeleteThread(ctx, "dangling"), state.ErrNotFound)
	})
	t.Run("goes when it is older than a creation takes, not before", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		for _, c := range []struct {
			age  time.Duration
			left int64
		}{{time.Minute, 1}, {creationTime + time.Minute, 0}} {
			dangle(t, s, c.age)
			n, err := s.Prune(ctx, state.Retention{})
			must(t, err)
			equal(t, "threads pruned", n, 0)
			equal(t, "entries", s.client.ZCard(ctx, s.indexKey()).Val(), c.left)
		}
	})
	t.Run("hinders no thread of its id, which is the newest then", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		dangle(t, s, time.Hour)
		first := create(t, s)
		_, err := s.CreateThread(ctx, state.NewThread{ID: "dangling"})
		must(t, err)
		equal(t, "threads", ids(t, s, state.ThreadFilter{}), []string{"dangling", first.id})
	})
	t.Run("is not removed once its thread is being made", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		dangle(t, s, time.Hour)
		score := s.client.ZScore(ctx, s.indexKey(), "dangling").Val()
		_, err := s.CreateThread(ctx, state.NewThread{ID: "dangling"})
		must(t, err)
		must(t, s.leave(ctx, indexed{"dangling", int64(score)})) // whoever read it before
		equal(t, "threads", ids(t, s, state.ThreadFilter{}), []string{"dangling"})
	})
}

func TestDeletionLeavesNoKey(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	th.fill()
	th.commit()
	th.fill()
	equal(t, "keys", len(keys(t, s)), 9)
	must(t, s.Release(t.Context(), th.lease))
	must(t, s.DeleteThread(t.Context(), th.id))
	equal(t, "keys", keys(t, s), []string(nil))
}

func TestPruneTakesManyThreads(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	const n = pageSize + 20
	for i := range n {
		id := fmt.Sprint(i)
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: id})
		must(t, err)
		must(t, s.RequestCancel(t.Context(), id))
	}
	pruned, err := s.Prune(t.Context(), state.Retention{Stopped: time.Microsecond})
	must(t, err)
	equal(t, "pruned", pruned, n)
	equal(t, "keys", keys(t, s), []string(nil))
}

func TestRecordsOfManyThreads(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const n = pageSize + 30
	for i := range n {
		id := fmt.Sprint(i)
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: id})
		must(t, err)
		th := take(t, s, id)
		r := th.record("hop" + id)
		r.Started = base.Add(time.Duration(n-i) * time.Second)
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{r}))
	}
	hops := func(f state.RecordFilter) (out []string) {
		rs, err := s.Records(t.Context(), f)
		must(t, err)
		for _, r := range rs {
			out = append(out, r.Hop)
		}
		return out
	}
	equal(t, "all", len(hops(state.RecordFilter{})), n)
	equal(t, "the oldest two of all pages", hops(state.RecordFilter{Limit: 2}), []string{fmt.Sprint("hop", n-1), fmt.Sprint("hop", n-2)})
	count := commands(s)
	since := base.Add((n - 2) * time.Second)
	equal(t, "since", hops(state.RecordFilter{Since: since}), []string{"hop2", "hop1", "hop0"})
	read := 0
	for _, c := range count() {
		if c == "eval" {
			read++
		}
	}
	equal(t, "threads read for what is new", read, 3)
}
