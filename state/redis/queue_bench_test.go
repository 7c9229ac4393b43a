package redis_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"junction/state/redis"
	"junction/state/redis/redistest"
)

// BenchmarkQueue is a thread's way through a queue of ten thousand others: held
// back, made due, claimed with fifteen more, extended once, done. The server's own
// time for it is what one queue can take at most.
func BenchmarkQueue(b *testing.B) {
	server := redistest.Start(b)
	s, err := redis.Open(b.Context(), server.Address(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range 10_000 {
		check(s.Enqueue(b.Context(), fmt.Sprint("waits", i), time.Hour))
	}
	before := scriptTime(b, server)
	threads := 0
	for b.Loop() {
		for range 16 {
			threads++
			id := fmt.Sprint("t", threads)
			check(s.Enqueue(b.Context(), id, time.Minute))
			check(s.Enqueue(b.Context(), id, 0))
		}
		claims, _, err := s.Claim(b.Context(), 16, time.Minute)
		check(err)
		claims, err = s.Extend(b.Context(), claims, time.Minute)
		check(err)
		for _, c := range claims {
			check(s.Done(b.Context(), c))
		}
	}
	b.ReportMetric((scriptTime(b, server)-before)/float64(threads), "redis-µs/thread")
}

// scriptTime is the time a server has spent on scripts, µs.
func scriptTime(b *testing.B, server *redistest.Server) float64 {
	b.Helper()
	c := server.Client()
	defer c.Close()
	text, err := c.Info(context.WithoutCancel(b.Context()), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^cmdstat_evalsha:calls=\d+,usec=(\d+)`).FindStringSubmatch(text)
	if m == nil {
		b.Fatal("no script has run")
	}
	usec, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return usec
}
