package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"junction/state"
)

//go:embed health.sql
var healthSchema string

var _ state.HealthStore = (*Store)(nil)

// addHealth makes the table of health samples in a file that has none.
func addHealth(ctx context.Context, conn *sql.Conn) error {
	if there, err := hasHealth(ctx, conn); err != nil || there {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	create := func() error {
		if there, err := hasHealth(ctx, conn); err != nil || there {
			return err // another process was first
		}
		_, err := conn.ExecContext(ctx, healthSchema)
		return err
	}
	if err := create(); err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

func hasHealth(ctx context.Context, conn *sql.Conn) (there bool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = 'health'`).Scan(&there)
	return there, err
}

// PutHealth stores samples and forgets those that were kept long enough.
func (s *Store) PutHealth(ctx context.Context, samples []state.HealthSample) error {
	data := make([]string, len(samples))
	for i, sample := range samples {
		text, err := json.Marshal(sample)
		if err != nil {
			return fmt.Errorf("health of %s: %w", sample.Server, err)
		}
		data[i] = string(text)
	}
	return s.write.run(ctx, func(x *tx) error {
		if err := x.exec(`DELETE FROM health WHERE minute < ?`, x.now.Add(-state.HealthKept).Unix()); err != nil {
			return err
		}
		kept := make(map[healthSpan]int) // how many there are
		for i, h := range samples {
			if err := x.putHealth(h, data[i], kept); err != nil {
				return err
			}
		}
		return nil
	})
}

// healthSpan is ten minutes of a server.
type healthSpan struct {
	server string
	span   int64
}

func (x *tx) putHealth(h state.HealthSample, data string, kept map[healthSpan]int) error {
	const seconds = 600
	minute := h.Minute.Unix()
	span := healthSpan{h.Server, minute / seconds}
	if _, counted := kept[span]; !counted {
		var n int
		if err := x.queryRow(`SELECT count(*) FROM health WHERE server = ? AND minute >= ? AND minute < ?`,
			[]any{h.Server, span.span * seconds, (span.span + 1) * seconds}, &n); err != nil {
			return err
		}
		kept[span] = n
	}
	var n int
	err := x.queryRow(`UPDATE health SET data = ? WHERE server = ? AND minute = ? AND capability = ? AND worker = ? RETURNING 1`,
		[]any{data, h.Server, minute, h.Capability, h.Worker}, &n)
	switch {
	case !errors.Is(err, sql.ErrNoRows):
		return err
	case kept[span] >= state.MostHealth:
		return nil // there is no room for another
	}
	kept[span]++
	return x.exec(`INSERT INTO health (server, minute, capability, worker, data) VALUES (?, ?, ?, ?, ?)`,
		h.Server, minute, h.Capability, h.Worker, data)
}

// Health returns a server's samples, or everybody's, of minutes in [from, to).
func (s *Store) Health(ctx context.Context, server string, from, to time.Time) ([]state.HealthSample, error) {
	where, args := `minute >= ?1 AND minute < ?2`, []any{unixUp(from), unixUp(to)}
	if server != "" {
		where, args = where+` AND server = ?3`, append(args, server)
	}
	var out []state.HealthSample
	rows, err := s.read.QueryContext(ctx, `SELECT server, data FROM health WHERE `+where+` ORDER BY minute, server, capability, worker`, args...)
	err = eachRow(rows, err, func(scan func(...any) error) error {
		var name string
		var data []byte
		var h state.HealthSample
		if err := scan(&name, &data); err != nil {
			return err
		}
		if err := json.Unmarshal(data, &h); err != nil {
			return fmt.Errorf("health of %s: %w: %w", name, state.ErrCorrupt, err)
		}
		out = append(out, h)
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return out, nil
}

// unixUp is t in seconds, rounded up: a minute lies before t when it lies before that.
func unixUp(t time.Time) int64 {
	seconds := t.Unix()
	if t.Nanosecond() > 0 {
		seconds++
	}
	return seconds
}
