package redis

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var deleteScript = load("delete.lua", true)

// creationTime is how old an entry of the index without its thread must be before
// Prune removes it: whoever entered it has made the thread by then, or never will.
const creationTime = 10 * time.Minute

// DeleteThread removes a thread and everything that belongs to it: first its
// keys, then its entry in the index.
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	created, entry, err := s.before(ctx, id)
	if err != nil {
		return err
	}
	if created == "" {
		return notFound(id)
	}
	r, again, err := s.run(ctx, "delete thread "+id, id, deleteScript, []any{created, ""})
	switch {
	case err != nil:
		return err
	case r.word() == "busy":
		return busy(id, r)
	case r.word() == "gone" && !again:
		return notFound(id)
	}
	return s.leave(ctx, entry)
}

// before reads when a thread was created, "" when it is not there, and its entry
// in the index (of the score 0 when it has none, which no entry has).
func (s *Store) before(ctx context.Context, id string) (string, indexed, error) {
	var (
		created *goredis.StringCmd
		score   *goredis.FloatCmd
	)
	err := s.try(ctx, "read thread "+id, func(ctx context.Context, _ int) error {
		_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			created = p.HGet(ctx, s.threadKeys(id)[keyThread], "created")
			score = p.ZScore(ctx, s.indexKey(), id)
			return nil
		})
		if err == goredis.Nil {
			err = nil
		}
		return err
	})
	if err != nil {
		return "", indexed{}, s.blameThread(ctx, id, err)
	}
	return created.Val(), indexed{id, int64(score.Val())}, nil
}

// leave takes an entry off the index, unless it was moved since it was read.
func (s *Store) leave(ctx context.Context, e indexed) error {
	_, err := s.index(ctx, "take thread "+e.id+" off the list", indexDropScript, e.id, e.score)
	s.heads.forget(e.id)
	return err
}

// Prune deletes the threads retention says, and the entries that stand for none.
func (s *Store) Prune(ctx context.Context, r state.Retention) (int, error) {
	var n int
	err := s.pages(ctx, oldestFirst, func(page []indexed) (bool, error) {
		now, err := s.serverTime(ctx)
		if err != nil {
			return false, err
		}
		rows, err := s.rows(ctx, page, "status", "updated", "created")
		if err != nil {
			return false, err
		}
		for i, e := range page {
			gone, err := s.prune(ctx, r, now, e, rows[i])
			if err != nil {
				return false, err
			}
			if gone {
				n++
			}
		}
		return true, nil
	})
	return n, err
}

// prune deletes a thread that is due, by its status, last update and creation,
// and reports whether it did.
func (s *Store) prune(ctx context.Context, r state.Retention, now time.Time, e indexed, row reply) (bool, error) {
	if row.text(0) == "" { // of no thread, or of one that is being made
		if now.Sub(unixMicro(e.score)) < creationTime {
			return false, nil
		}
		return false, s.leave(ctx, e)
	}
	if !r.Due(state.Status(row.text(0)), now.Sub(unixMicro(row.number(1)))) {
		return false, nil
	}
	reply, again, err := s.run(ctx, "prune thread "+e.id, e.id, deleteScript, []any{row.text(2), row.text(1)})
	if err != nil || reply.word() != "ok" && (reply.word() != "gone" || !again) {
		return false, err
	}
	return true, s.leave(ctx, e)
}

// serverTime is the store's clock.
func (s *Store) serverTime(ctx context.Context) (now time.Time, err error) {
	err = s.try(ctx, "ask the time", func(ctx context.Context, _ int) (err error) {
		now, err = s.client.Time(ctx).Result()
		return err
	})
	return now, err
}
