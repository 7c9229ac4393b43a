package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var (
	healthScript      = load("health.lua", false)
	healthIndexScript = load("health_index.lua", false)
)

const (
	// healthSpan is the time that one hash of a server's samples stands for: whole
	// hashes expire, so nothing has to be trimmed.
	healthSpan = 10 * time.Minute
	// healthTTL is from a hash's last write on.
	healthTTL = state.HealthKept + healthSpan
	// mostHealthServers is how many servers the index names.
	mostHealthServers = 10_000
)

var _ state.HealthStore = (*Store)(nil)

func (s *Store) healthIndexKey() string { return s.prefix + ":{health}:servers" }

// healthKey is the hash of a server's samples of ten minutes. Servers spread over
// the nodes of a cluster.
func (s *Store) healthKey(server string, span int64) string {
	return s.prefix + ":{health:" + escapeID.Replace(server) + "}:" + strconv.FormatInt(span, 10)
}

// spanOf numbers the ten minutes that t lies in.
func spanOf(t time.Time) int64 { return t.Unix() / int64(healthSpan/time.Second) }

// healthBatch is samples that go into one hash.
type healthBatch struct {
	server string
	span   int64
	args   []any
}

// PutHealth stores samples: a script for each server, and one for the index.
func (s *Store) PutHealth(ctx context.Context, samples []state.HealthSample) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	batches, servers, err := healthBatches(samples)
	if err != nil || len(batches) == 0 {
		return err
	}
	return s.try(ctx, "store how servers fared", func(ctx context.Context, _ int) error {
		_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, b := range batches {
				healthScript.Eval(ctx, p, []string{s.healthKey(b.server, b.span)}, b.args...)
			}
			healthIndexScript.Eval(ctx, p, []string{s.healthIndexKey()}, servers...)
			return nil
		})
		return err
	})
}

func healthBatches(samples []state.HealthSample) (batches []healthBatch, servers []any, err error) {
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(a, b state.HealthSample) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), a.Minute.Compare(b.Minute))
	})
	servers = []any{healthTTL.Milliseconds(), mostHealthServers}
	for _, h := range samples {
		span := spanOf(h.Minute)
		last := len(batches) - 1
		if last < 0 || batches[last].server != h.Server {
			servers = append(servers, h.Server)
		}
		if last < 0 || batches[last].server != h.Server || batches[last].span != span {
			batches = append(batches, healthBatch{h.Server, span, []any{healthTTL.Milliseconds(), state.MostHealth}})
			last++
		}
		h.Minute = h.Minute.UTC()
		data, err := json.Marshal(h)
		if err != nil {
			return nil, nil, fmt.Errorf("health of %s: %w", h.Server, err)
		}
		// Quoted, so that no capability's name runs into a worker's.
		field := fmt.Sprintf("%d %q %q", h.Minute.Unix(), h.Capability, h.Worker)
		batches[last].args = append(batches[last].args, field, data)
	}
	return batches, servers, nil
}

// Health returns a server's samples, or everybody's, of minutes in [from, to).
func (s *Store) Health(ctx context.Context, server string, from, to time.Time) ([]state.HealthSample, error) {
	now, err := s.serverTime(ctx)
	if err != nil {
		return nil, err
	}
	// Outside of these there is nothing, whatever is asked for; a worker's clock may
	// be ahead.
	first, last := spanOf(now.Add(-healthTTL-time.Hour)), spanOf(now.Add(24*time.Hour))
	first, last = max(first, spanOf(from)), min(last, spanOf(to))
	servers := []string{server}
	if server == "" {
		if servers, err = s.healthServers(ctx); err != nil {
			return nil, err
		}
	}
	var out []state.HealthSample
	for _, name := range servers {
		if out, err = s.healthOf(ctx, out, name, first, last); err != nil {
			return nil, err
		}
	}
	out = slices.DeleteFunc(out, func(h state.HealthSample) bool { return h.Minute.Before(from) || !h.Minute.Before(to) })
	state.SortHealth(out)
	return out, nil
}

func (s *Store) healthServers(ctx context.Context) (servers []string, err error) {
	err = s.try(ctx, "list servers with a history", func(ctx context.Context, _ int) (err error) {
		servers, err = s.client.ZRange(ctx, s.healthIndexKey(), 0, -1).Result()
		return err
	})
	return servers, err
}

// healthOf appends what is kept of a server in these spans, in one round trip.
func (s *Store) healthOf(ctx context.Context, out []state.HealthSample, server string, first, last int64) ([]state.HealthSample, error) {
	if first > last {
		return out, ctx.Err()
	}
	cmds := make([]*goredis.StringSliceCmd, 0, last-first+1)
	err := s.try(ctx, "read how "+server+" fared", func(ctx context.Context, _ int) error {
		cmds = cmds[:0]
		_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for span := first; span <= last; span++ {
				cmds = append(cmds, p.HVals(ctx, s.healthKey(server, span)))
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, cmd := range cmds {
		for _, text := range cmd.Val() {
			var h state.HealthSample
			if err := json.Unmarshal([]byte(text), &h); err != nil {
				return nil, fmt.Errorf("health of %s: %w: %w", server, state.ErrCorrupt, err)
			}
			out = append(out, h)
		}
	}
	return out, nil
}
