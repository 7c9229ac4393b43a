package redis

import (
	"fmt"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// size is the memory that the thread's keys take, in bytes, and that of each.
func (th *thread) size() (total int64, each map[string]int64) {
	th.t.Helper()
	each = map[string]int64{}
	for _, key := range th.s.threadKeys(th.id) {
		n, err := th.s.client.MemoryUsage(th.t.Context(), key, 0).Result()
		if err == goredis.Nil {
			continue
		}
		must(th.t, err)
		total += n
		each[key[strings.LastIndex(key, ":"):]] = n
	}
	return total, each
}

// TestGrowthIsLinear measures that a superstep takes what it adds, however many
// went before.
func TestGrowthIsLinear(t *testing.T) {
	t.Parallel()
	th := create(t, open(t, Options{}))
	item := raw(`"` + strings.Repeat("x", 1022) + `"`)
	steps := func(n int) {
		for range n {
			th.commit(func(c *state.Commit) { c.Append = map[string][]jsonText{"log": {item}} })
		}
	}
	empty, _ := th.size()
	steps(100)
	hundred, _ := th.size()
	steps(900)
	thousand, each := th.size()
	early, all := float64(hundred-empty)/100, float64(thousand-empty)/1000
	t.Logf("%.0f bytes a superstep over 100, %.0f over 1,000, of 1,024 appended; %d bytes empty; keys at the end: %v", early, all, empty, each)
	if all > 1.1*early || early > 1.1*all {
		t.Errorf("a superstep takes %.0f bytes over 100 supersteps and %.0f over 1,000: more than a tenth apart", early, all)
	}
	if all > 1.5*1024 {
		t.Errorf("1,000 supersteps of 1 KiB take %.0f bytes each, more than 1.5 times what they append", all)
	}
}

func TestLargeValueIsStoredOnce(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), open(t, Options{})
	diff := large(1 << 20)
	compressed, err := state.Squeeze(diff)
	must(t, err)
	items := make([]state.Task, 5)
	for i := range items {
		items[i] = state.Task{ID: fmt.Sprint("task", i), Node: "review", Index: i, Fan: true, Item: raw(fmt.Sprintf(`{"n":%d,"diff":%s}`, i, diff))}
	}
	_, err = s.CreateThread(ctx, state.NewThread{ID: "review", Set: map[string]jsonText{"diff": diff}, Append: map[string][]jsonText{"findings": nil}, Next: items})
	must(t, err)
	th := take(t, s, "review")
	for _, item := range items {
		r := th.record("hop " + item.ID)
		must(t, s.PutRecords(ctx, th.lease, []state.Record{r}))
		r.Status, r.Final, r.Result = state.CallSuccess, true, raw(fmt.Sprintf(`{"issues":[],"of":%s}`, diff))
		must(t, s.PutWrites(ctx, th.lease, 1, state.TaskWrites{Task: item.ID, Writes: []state.Write{{Channel: "findings", Value: r.Result}}}, []state.Record{r}))
	}
	limit := int64(1.2*float64(len(compressed))) + 20<<10
	check := func(when string) {
		t.Helper()
		size, each := th.size()
		t.Logf("%s: %d bytes for %d of diff, %d compressed, limit %d: %v", when, size, len(diff), len(compressed), limit, each)
		if size > limit {
			t.Errorf("%s: the thread takes %d bytes, more than %d", when, size, limit)
		}
	}
	check("before the commit")
	th.commit(func(c *state.Commit) { c.Set, c.Append = nil, map[string][]jsonText{"findings": {diff, diff}} })
	check("after it")
	snap := th.load(0)
	equal(t, "diff", len(snap.Values["diff"]), len(diff))
	equal(t, "items of the log", len(snap.Logs["findings"]), 2)
}
