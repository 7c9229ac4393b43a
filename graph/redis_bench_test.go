package graph_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/graph"
	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
)

// bareScript is the least that anything durable costs: one script that sets one
// key.
var bareScript = goredis.NewScript(`redis.call('SET', KEYS[1], ARGV[1]) return 1`)

// redisBench is a store on a server of its own, and a bare client of that server
// which is no part of the store.
type redisBench struct {
	b     *testing.B
	store state.Store
	bare  *goredis.Client
}

func newRedisBench(b *testing.B) *redisBench {
	b.Helper()
	server := redistest.Start(b)
	store, err := redis.Open(b.Context(), server.Address(), nil)
	if err != nil {
		b.Fatal(err)
	}
	r := &redisBench{b: b, store: store, bare: goredis.NewClient(&goredis.Options{Addr: server.Addr(), MaxRetries: -1})}
	b.Cleanup(func() {
		closeStore(b, store)
		if err := r.bare.Close(); err != nil {
			b.Error(err)
		}
	})
	return r
}

// eval runs the bare script with so many bytes and returns how long that took.
func (r *redisBench) eval(payload string) time.Duration {
	begun := time.Now()
	if err := bareScript.Run(r.b.Context(), r.bare, []string{"bare"}, payload).Err(); err != nil {
		r.b.Error(err)
	}
	return time.Since(begun)
}

// traffic is what a server has taken so far: bytes, calls of scripts (each a
// round trip), the commands that scripts made, and reads of a connection.
type traffic struct{ bytes, scripts, commands, reads float64 }

// bareOverhead is what a bare call sends beside its payload, in bytes.
const bareOverhead = 100

func (r *redisBench) traffic() (t traffic) {
	text, err := r.bare.Info(r.b.Context(), "stats", "commandstats").Result()
	if err != nil {
		r.b.Fatal(err)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		switch {
		case name == "total_net_input_bytes":
			t.bytes = r.number(value)
		case name == "total_reads_processed":
			t.reads = r.number(value)
		case name == "cmdstat_evalsha":
			t.scripts = r.number(calls)
		case name == "cmdstat_info", !strings.HasPrefix(name, "cmdstat_"):
		default:
			t.commands += r.number(calls)
		}
	}
	return t
}

func (r *redisBench) number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.b.Fatal(err)
	}
	return n
}

// since is what a server has taken in between, less the look itself.
func (t traffic) since(before traffic) traffic {
	return traffic{t.bytes - before.bytes, t.scripts - before.scripts, t.commands - before.commands, t.reads - before.reads - 1}
}

func (r *redisBench) run(g *graph.Graph) graph.Result {
	res, err := g.Run(context.WithoutCancel(r.b.Context()), graph.RunOptions{Store: r.store})
	if err != nil || res.Status != state.StatusCompleted {
		r.b.Fatal(err, res.Err)
	}
	return res
}

func middle[T time.Duration | float64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkSuperstepRedis measures the supersteps of a line of ten nodes, each
// from one node to the next with its commit in between. Every node makes a bare
// call of as many bytes as a superstep sends, so that the two are taken in turn;
// ×bare is the median of those pairs' ratios. Making, taking and ending the
// thread are in run-µs only.
func BenchmarkSuperstepRedis(b *testing.B) {
	r := newRedisBench(b)
	var (
		before, all traffic
		nodes       int
	)
	r.run(tenNodesAnd(b, func() { // the script is known to the server after this
		switch nodes++; nodes {
		case 2:
			before = r.traffic()
		case 10:
			all = r.traffic().since(before)
		}
	}))
	payload := strings.Repeat("x", int(all.bytes/8)-bareOverhead)
	var (
		left               time.Time // the node before; zero in the first one
		steps, bares, runs []time.Duration
		ratios             []float64
	)
	g := tenNodesAnd(b, func() {
		step := time.Since(left)
		bare := r.eval(payload)
		bares = append(bares, bare)
		if !left.IsZero() {
			steps, ratios = append(steps, step), append(ratios, float64(step)/float64(bare))
		}
		left = time.Now()
	})
	for b.Loop() {
		left = time.Time{}
		spent, begun := len(bares), time.Now()
		if res := r.run(g); res.State["n"] != int64(10) {
			b.Fatal(res.State)
		}
		took := time.Since(begun)
		for _, d := range bares[spent:] {
			took -= d
		}
		runs = append(runs, took)
	}
	b.ReportMetric(middle(ratios), "×bare")
	b.ReportMetric(float64(middle(steps).Nanoseconds()), "ns/superstep")
	b.ReportMetric(float64(middle(bares).Nanoseconds()), "ns/bare")
	b.ReportMetric(float64(middle(runs).Nanoseconds())/1000, "run-µs")
	b.ReportMetric(all.scripts/8, "scripts/superstep")
	b.ReportMetric(all.commands/8, "commands/superstep")
	b.ReportMetric(all.bytes/8, "B/superstep")
}

// BenchmarkFanOut100Redis measures a run of three supersteps, the second of a
// hundred tasks whose writes are each made durable when it finishes, beside a
// hundred bare calls, one after another, that send as many bytes in all.
func BenchmarkFanOut100Redis(b *testing.B) {
	const tasks = 100
	r := newRedisBench(b)
	items := make([]any, tasks)
	for i := range items {
		items[i] = int64(i)
	}
	g := compile(b, fanSpec(func(graph.View) ([]any, error) { return items, nil },
		func(_ context.Context, in graph.Input) (graph.Update, error) {
			return graph.Update{Writes: []graph.Write{{Channel: "found", Value: []any{in.Item}}}}, nil
		}))
	r.run(g) // the scripts are known to the server after this
	before := r.traffic()
	r.run(g)
	all := r.traffic().since(before)
	payload := strings.Repeat("x", int(all.bytes/tasks)-bareOverhead)
	var (
		runs, bares []time.Duration
		ratios      []float64
	)
	for b.Loop() {
		var bare time.Duration
		for range tasks {
			bare += r.eval(payload)
		}
		begun := time.Now()
		if res := r.run(g); len(res.State["found"].([]any)) != tasks {
			b.Fatal(res.State)
		}
		took := time.Since(begun)
		runs, bares, ratios = append(runs, took), append(bares, bare/tasks), append(ratios, float64(took)/float64(bare))
	}
	b.ReportMetric(middle(ratios), "×100-bare")
	b.ReportMetric(float64(middle(runs).Nanoseconds())/1e6, "ms/run")
	b.ReportMetric(float64(middle(bares).Nanoseconds()), "ns/bare")
	b.ReportMetric(all.scripts, "scripts/run")
	b.ReportMetric(all.commands, "commands/run")
	b.ReportMetric(all.reads, "reads/run")
	b.ReportMetric(all.bytes, "B/run")
}
