package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state/redis/redistest"
)

// BenchmarkThreadCost is what a thread of five hops, two of them under a key,
// costs Redis when a worker runs it: scripts, the server's time for them, bytes
// on the wire, and bytes kept. One iteration is a thread.
func BenchmarkThreadCost(b *testing.B) {
	r := redistest.Start(b)
	c := goredis.NewClient(&goredis.Options{Addr: r.Addr()})
	b.Cleanup(func() { closing(b, c) })
	f := newFleet(b, r.Address(), 0, 10*time.Second, 16)
	w := f.start(b)
	f.wait(b, f.queueAs(b, fiveHops, []string{"first"}), time.Minute, func() []*fleetWorker { return []*fleetWorker{w} })
	before, memory := redisCounters(b, c), redisMemory(b, c)
	b.ResetTimer()
	ids := f.queue(b, fiveHops, b.N)
	f.wait(b, append(ids, "first"), 10*time.Minute, func() []*fleetWorker { return []*fleetWorker{w} })
	b.StopTimer()
	after := redisCounters(b, c)
	for name, unit := range map[string]string{
		"evalsha calls": "scripts/thread", "evalsha usec": "redis-µs/thread",
		"total_net_input_bytes": "in-B/thread", "total_net_output_bytes": "out-B/thread",
	} {
		b.ReportMetric((after[name]-before[name])/float64(b.N), unit)
	}
	b.ReportMetric((redisMemory(b, c)-memory)/float64(b.N), "kept-B/thread")
}

// redisCounters are the server's counters of scripts and of the wire.
func redisCounters(b *testing.B, c *goredis.Client) map[string]float64 {
	b.Helper()
	text, err := c.Info(context.WithoutCancel(b.Context()), "commandstats", "stats").Result()
	if err != nil {
		b.Fatal(err)
	}
	counters := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^cmdstat_evalsha:calls=(\d+),usec=(\d+)`).FindAllStringSubmatch(text, -1) {
		counters["evalsha calls"], counters["evalsha usec"] = number(b, m[1]), number(b, m[2])
	}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(name, "total_net") {
			counters[name] = number(b, value)
		}
	}
	return counters
}

// redisMemory is what all keys take.
func redisMemory(b *testing.B, c *goredis.Client) float64 {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	total := 0.0
	keys := c.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		n, err := c.MemoryUsage(ctx, keys.Val(), 0).Result()
		if err != nil {
			b.Fatal(err)
		}
		total += float64(n)
	}
	if err := keys.Err(); err != nil {
		b.Fatal(err)
	}
	return total
}

func number(b *testing.B, text string) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
