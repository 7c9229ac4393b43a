package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// gathering is a thread of which one task's writes are on their way, held until
// told, while those of its siblings gather.
type gathering struct {
	*thread
	scripts atomic.Int64 // calls of the script that stores writes
	arrived chan struct{}
	free    chan struct{}
	answers map[string]chan error
}

func gather(t *testing.T) *gathering {
	s := open(t, Options{Retry: -1})
	g := &gathering{thread: create(t, s), arrived: make(chan struct{}), free: make(chan struct{}), answers: map[string]chan error{}}
	s.client.AddHook(hook{script: func(_ context.Context, cmd goredis.Cmder, call func() error) error {
		if calls(cmd, writesScript) && g.scripts.Add(1) == 1 {
			close(g.arrived)
			<-g.free
		}
		return call()
	}})
	must(t, writesScript.Load(t.Context(), s.client).Err())
	g.put(t.Context(), "first", nil)
	<-g.arrived
	return g
}

// put stores a task's writes in a goroutine of its own.
func (g *gathering) put(ctx context.Context, task string, r *state.Record, writes ...state.Write) {
	answer := make(chan error, 1)
	g.answers[task] = answer
	var records []state.Record
	if r != nil {
		records = []state.Record{*r}
	}
	go func() {
		answer <- g.s.PutWrites(ctx, g.lease, g.head, state.TaskWrites{Task: task, Writes: writes}, records)
	}()
}

// await waits until the writes of so many tasks wait.
func (g *gathering) await(n int) {
	g.t.Helper()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		g.s.siblings.mu.Lock()
		waiting := len(g.s.siblings.open[underLease{g.id, g.lease.Token, g.head}])
		g.s.siblings.mu.Unlock()
		if waiting == n {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			g.t.Fatalf("%d wait after 30s, want %d", waiting, n)
		}
	}
}

// stored are the tasks whose writes are durable, in order.
func (g *gathering) stored() []string {
	g.t.Helper()
	var tasks []string
	for task := range g.load(0).Pending {
		tasks = append(tasks, task)
	}
	slices.Sort(tasks)
	return tasks
}

func TestWritesOfSiblingsGoTogether(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("those that come while one is under way take one script more", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		want := []string{"first"}
		for i := range 20 {
			task := fmt.Sprintf("task-%02d", i)
			r := g.record("hop-" + task)
			g.put(ctx, task, &r, state.Write{Channel: "n", Value: raw(fmt.Sprint(i))})
			want = append(want, task)
		}
		g.await(20)
		close(g.free)
		for _, answer := range g.answers {
			must(t, <-answer)
		}
		equal(t, "stored", g.stored(), want)
		equal(t, "scripts", g.scripts.Load(), int64(2))
		snap := g.load(0)
		equal(t, "records", len(snap.Records), 20)
		equal(t, "write", string(snap.Pending["task-07"].Writes[0].Value), "7")
	})
	t.Run("more than a script may take go in several", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		for i := range togetherTasks + 1 {
			g.put(ctx, fmt.Sprint(i), nil)
		}
		g.await(togetherTasks + 1)
		close(g.free)
		for _, answer := range g.answers {
			must(t, <-answer)
		}
		equal(t, "stored", len(g.stored()), togetherTasks+2)
		equal(t, "scripts", g.scripts.Load(), int64(3))
	})
	t.Run("large writes wait for nobody", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		pieces := state.Write{Channel: "n", Value: raw("[" + strings.Repeat(`"a small string",`, aloneBytes/10) + "0]")}
		g.put(ctx, "large", nil, pieces)
		must(t, <-g.answers["large"])
		equal(t, "stored", g.stored(), []string{"large"})
		close(g.free)
		must(t, <-g.answers["first"])
	})
	t.Run("the writes of two threads are apart", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		other := create(t, g.s)
		must(t, g.s.PutWrites(ctx, other.lease, other.head, state.TaskWrites{Task: "other"}, nil))
		close(g.free)
		must(t, <-g.answers["first"])
	})
}

func TestNobodyPaysForASibling(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("a caller that leaves is not waited for, and its writes are not sent", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		leaving, leave := context.WithCancel(ctx)
		g.put(leaving, "leaves", nil)
		g.put(ctx, "stays", nil)
		g.await(2)
		leave()
		wantErr(t, <-g.answers["leaves"], context.Canceled)
		close(g.free)
		must(t, <-g.answers["stays"])
		must(t, <-g.answers["first"])
		equal(t, "stored", g.stored(), []string{"first", "stays"})
	})
	t.Run("the first one's end is its own", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{Retry: -1})
		th := create(t, s)
		ended, end := context.WithCancel(ctx)
		end()
		wantErr(t, s.PutWrites(ended, th.lease, th.head, state.TaskWrites{Task: "a"}, nil), context.Canceled)
		must(t, s.PutWrites(ctx, th.lease, th.head, state.TaskWrites{Task: "b"}, nil))
	})
	t.Run("a record that cannot be read fails its own task alone", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		bad, good := g.record("bad"), g.record("good")
		must(t, g.s.client.HSet(ctx, g.key(keyRecords), recordField(bad), "no record").Err())
		g.put(ctx, "bad", &bad)
		g.put(ctx, "good", &good)
		g.await(2)
		close(g.free)
		wantErr(t, <-g.answers["bad"], state.ErrCorrupt)
		must(t, <-g.answers["good"])
		must(t, <-g.answers["first"])
		must(t, g.s.client.HDel(ctx, g.key(keyRecords), recordField(bad)).Err())
		equal(t, "stored", g.stored(), []string{"first", "good"})
	})
	t.Run("each is told of a lost lease", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		g.put(ctx, "a", nil)
		g.put(ctx, "b", nil)
		g.await(2)
		must(t, g.s.Release(ctx, g.lease))
		close(g.free)
		for _, answer := range g.answers {
			wantErr(t, <-answer, state.ErrLeaseLost)
		}
	})
	t.Run("nothing is left of a superstep that is over", func(t *testing.T) {
		t.Parallel()
		g := gather(t)
		g.put(ctx, "a", nil)
		g.await(1)
		close(g.free)
		must(t, <-g.answers["a"])
		must(t, <-g.answers["first"])
		limit, tick := time.After(30*time.Second), time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for left := 1; left > 0; {
			g.s.siblings.mu.Lock()
			left = len(g.s.siblings.open)
			g.s.siblings.mu.Unlock()
			select {
			case <-tick.C:
			case <-limit:
				t.Fatalf("%d supersteps are left", left)
			}
		}
	})
}
