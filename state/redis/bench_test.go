package redis

import (
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// bare is the least that anything durable costs: one script that sets one key.
var bare = goredis.NewScript(`redis.call('SET', KEYS[1], ARGV[1]) return 1`)

// BenchmarkCommit is one superstep (a last value set, an item of 1 KiB added, one
// task planned) beside a bare script that sets as many bytes, in turn in the same
// loop; the ratio is the median of the pairs'.
func BenchmarkCommit(b *testing.B) {
	s := open(b, Options{})
	item := raw(`"` + strings.Repeat("x", 1022) + `"`)
	payload := strings.Repeat("x", 1022+150)
	bench(b, s, payload, func(th *thread) {
		th.commit(func(c *state.Commit) { c.Append = map[string][]jsonText{"log": {item}} })
	})
}

// BenchmarkPutRecords is the intent of one hop, beside a bare script.
func BenchmarkPutRecords(b *testing.B) {
	s := open(b, Options{})
	hops := 0
	bench(b, s, strings.Repeat("x", 400), func(th *thread) {
		hops++
		r := th.record("0123456789abcdef0123456789abcdef")
		r.Attempt, r.Key, r.Endpoint = hops, "junction-0123456789abcdef0123456789abcdef", "http://127.0.0.1:8080/mcp"
		must(b, s.PutRecords(b.Context(), th.lease, []state.Record{r}))
	})
}

func bench(b *testing.B, s *Store, payload string, op func(*thread)) {
	th := create(b, s)
	key := []string{s.prefix + ":bare"}
	var ratios, ours []float64
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		must(b, bare.Run(b.Context(), s.client, key, payload).Err())
		between := time.Now()
		op(th)
		took := time.Since(between)
		ours = append(ours, float64(took.Nanoseconds()))
		ratios = append(ratios, float64(took)/float64(between.Sub(begun)))
	}
	b.ReportMetric(median(ratios), "bare-EVALSHA")
	b.ReportMetric(median(ours), "median-ns")
	must(b, s.client.Del(b.Context(), key...).Err())
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
