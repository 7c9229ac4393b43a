package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var (
	indexAddScript  = load("index_add.lua", false)
	indexDropScript = load("index_drop.lua", false)
)

// pageSize is how many threads are read in one round trip.
const pageSize = 200

// indexed is an entry of the index: a thread's id, and when it was created as
// far as the index knows, Unix µs.
type indexed struct {
	id    string
	score int64
}

// enter puts the entry of a thread that is to be made into the index. An entry
// without its thread, which a crash or an expiry left behind, is moved to now:
// whoever read it to remove it then misses it.
func (s *Store) enter(ctx context.Context, id string) error {
	fresh, err := s.index(ctx, "enter thread "+id, indexAddScript, id, "0")
	if err != nil || fresh {
		return err
	}
	v, err := s.fields(ctx, "create thread "+id, id, "status")
	if err != nil {
		return err
	}
	if v.text(0) != "" {
		return exists(id)
	}
	_, err = s.index(ctx, "enter thread "+id, indexAddScript, id, "1")
	return err
}

// index runs a script of the index and reports whether it replied 1.
func (s *Store) index(ctx context.Context, what string, script *goredis.Script, args ...any) (bool, error) {
	v, _, err := s.eval(ctx, what, script, []string{s.indexKey()}, args...)
	if err != nil {
		return false, err
	}
	n, ok := v.(int64)
	if !ok {
		return false, fmt.Errorf("%s: %w: the index's script replied %T", what, state.ErrCorrupt, v)
	}
	return n == 1, nil
}

func (s *Store) explainIndex(err error) error {
	if !errors.Is(err, state.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("key %s is no sorted set: %w", s.indexKey(), err)
}

const (
	oldestFirst = false
	newestFirst = true
)

// pages calls each with the entries of the index, a page at a time, until it
// wants no more. It goes by score, so that threads made or deleted meanwhile let
// no other be missed or seen twice.
func (s *Store) pages(ctx context.Context, newest bool, each func([]indexed) (more bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from := goredis.ZRangeArgs{Key: s.indexKey(), Start: "-inf", Stop: "+inf", ByScore: true, Rev: newest}
	if newest {
		from.Start, from.Stop = from.Stop, from.Start
	}
	seen := make(map[string]bool) // of the score that the page before ended with
	var last int64
	for {
		var entries []goredis.Z
		from.Count = int64(pageSize + len(seen))
		err := s.try(ctx, "list the threads", func(ctx context.Context, _ int) (err error) {
			entries, err = s.client.ZRangeArgsWithScores(ctx, from).Result()
			return err
		})
		if err != nil {
			return s.explainIndex(err)
		}
		page := make([]indexed, 0, len(entries))
		for _, z := range entries {
			e := indexed{id: z.Member.(string), score: int64(z.Score)}
			if e.score != last {
				clear(seen)
				last = e.score
			}
			if !seen[e.id] {
				seen[e.id] = true
				page = append(page, e)
			}
		}
		if len(page) == 0 {
			return nil
		}
		more, err := each(page)
		if err != nil || !more {
			return err
		}
		from.Start = strconv.FormatInt(last, 10)
	}
}

// Threads returns the selected threads, newest first.
func (s *Store) Threads(ctx context.Context, f state.ThreadFilter) ([]state.Thread, error) {
	var out []state.Thread
	err := s.pages(ctx, newestFirst, func(page []indexed) (bool, error) {
		rows, err := s.rows(ctx, page, threadFields...)
		if err != nil {
			return false, err
		}
		for i, e := range page {
			th, ok, err := decodeThread(e.id, rows[i])
			if err != nil {
				return false, err
			}
			if ok && (f.Status == "" || f.Status == th.Status) && (f.Workflow == "" || f.Workflow == th.Workflow) {
				out = append(out, th)
			}
			if f.Limit > 0 && len(out) == f.Limit {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// rows reads fields of the hashes of a page of threads, in one round trip.
func (s *Store) rows(ctx context.Context, page []indexed, fields ...string) ([]reply, error) {
	cmds := make([]*goredis.SliceCmd, len(page))
	err := s.try(ctx, "read threads", func(ctx context.Context, _ int) error {
		_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, e := range page {
				cmds[i] = p.HMGet(ctx, s.threadKeys(e.id)[keyThread], fields...)
			}
			return nil
		})
		for i, cmd := range cmds {
			if err != nil && cmd.Err() == err {
				return &threadError{page[i].id, err}
			}
		}
		return err
	})
	if err != nil {
		return nil, s.blamePage(ctx, err)
	}
	out := make([]reply, len(page))
	for i, cmd := range cmds {
		out[i] = cmd.Val()
	}
	return out, nil
}
