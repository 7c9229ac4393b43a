package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"junction/state/crash"
)

const (
	maxBatch  = 128                    // callers that share one transaction
	beginWait = 100 * time.Millisecond // SQLite's own wait for a lock, before we look around
)

// writer is the one connection of a process that writes. Its loop takes a job,
// and whatever else waits by then, into one transaction: while one transaction
// is being made durable, the next one gathers.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	busy time.Duration
	now  func() time.Time

	statements map[string]*sql.Stmt // of the loop alone
	jobs       chan *job
	quit       chan struct{}
	stop       sync.Once
	stopped    chan struct{} // the loop has ended
	ended      error         // what closing gave; after stopped
}

// job is what one caller wants written.
type job struct {
	do    func(*tx) error
	taken atomic.Bool // by the loop, which will answer, or by its caller, who left
	done  chan error
}

func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

// kept is an error that does not undo what its job wrote.
type kept struct{ error }

func newWriter(db *sql.DB, conn *sql.Conn, o *Options) *writer {
	w := &writer{
		db: db, conn: conn, busy: o.Busy, now: o.Now, statements: make(map[string]*sql.Stmt),
		jobs: make(chan *job), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	if w.now == nil {
		w.now = time.Now
	}
	go w.loop()
	return w
}

// run has do executed in a transaction and returns when it is durable. A
// caller whose context ends first leaves while its job is still waiting; a job
// that has begun is a matter of milliseconds and is waited for.
func (w *writer) run(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, done: make(chan error, 1)}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return os.ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.take() {
			return ctx.Err()
		}
		return <-j.done
	}
}

func (w *writer) close() error {
	w.stop.Do(func() { close(w.quit) })
	<-w.stopped
	return w.ended
}

func (w *writer) loop() {
	defer close(w.stopped)
	for {
		select {
		case j := <-w.jobs:
			w.transact(w.gather(j))
		case <-w.quit:
			for _, s := range w.statements {
				w.ended = errors.Join(w.ended, s.Close())
			}
			w.ended = errors.Join(w.ended, w.conn.Close(), w.db.Close())
			return
		}
	}
}

func (w *writer) gather(first *job) []*job {
	batch := []*job{first}
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// transact runs a batch in one transaction and answers everyone in it.
func (w *writer) transact(batch []*job) {
	if err := w.begin(batch); err != nil {
		for _, j := range batch {
			if j.take() {
				j.done <- translate(err)
			}
		}
		return
	}
	var mine []*job
	for _, j := range batch {
		if j.take() {
			mine = append(mine, j)
		}
	}
	answers, err := w.execute(mine)
	if err == nil {
		crash.Point("sqlite.commit.before")
		err = w.exec("COMMIT")
		crash.Point("sqlite.commit.after")
	}
	if err != nil {
		err = fmt.Errorf("nothing was written: %w", translate(err))
		if undo := w.exec("ROLLBACK"); undo != nil && code(undo) != codeError {
			err = errors.Join(err, undo)
		}
	}
	for i, j := range mine {
		if err != nil && answers[i] == nil {
			answers[i] = err
		}
		j.done <- answers[i]
	}
}

// codeError is what ROLLBACK gives when SQLite has rolled back by itself.
const codeError = 1

// begin takes the write lock, for as long as someone still wants it.
func (w *writer) begin(batch []*job) error {
	deadline := time.Now().Add(w.busy)
	for {
		err := w.exec("BEGIN IMMEDIATE")
		if code(err) != codeBusy || !time.Now().Before(deadline) || !wanted(batch) {
			return err
		}
		select {
		case <-w.quit:
			return os.ErrClosed
		default:
		}
	}
}

func wanted(batch []*job) bool {
	for _, j := range batch {
		if !j.taken.Load() {
			return true
		}
	}
	return false
}

// execute runs the jobs. Its error is that of the whole transaction; a job's own
// error undoes that job alone.
func (w *writer) execute(jobs []*job) (answers []error, err error) {
	answers = make([]error, len(jobs))
	now := w.now()
	for i, j := range jobs {
		if answers[i], err = w.guard(j, now); err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// guard runs one job behind a savepoint and returns the job's own error apart.
func (w *writer) guard(j *job, now time.Time) (answer, err error) {
	if err := w.exec("SAVEPOINT job"); err != nil {
		return nil, err
	}
	answer = j.do(&tx{w: w, now: now})
	var k kept
	if errors.As(answer, &k) {
		answer = k.error
	} else if answer != nil {
		answer = translate(answer)
		if err := w.exec("ROLLBACK TO job"); err != nil {
			return answer, err
		}
	}
	return answer, w.exec("RELEASE job")
}

func (w *writer) exec(query string, args ...any) error {
	s, err := w.statement(query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(context.Background(), args...)
	return err
}

// statement prepares each query once.
func (w *writer) statement(query string) (*sql.Stmt, error) {
	if s, ok := w.statements[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.statements[query] = s
	return s, nil
}

// tx is one job's view of the transaction.
type tx struct {
	w   *writer
	now time.Time // the machine's wall clock, read after the lock was taken
}

func (x *tx) exec(query string, args ...any) error { return x.w.exec(query, args...) }

// queryRow reads one row; sql.ErrNoRows where there is none.
func (x *tx) queryRow(query string, args []any, into ...any) error {
	s, err := x.w.statement(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(context.Background(), args...).Scan(into...)
}

// queryRows calls each for every row.
func (x *tx) queryRows(query string, args []any, each func(scan func(...any) error) error) error {
	s, err := x.w.statement(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	return eachRow(rows, err, each)
}

// eachRow walks rows to their end and closes them.
func eachRow(rows *sql.Rows, err error, each func(scan func(...any) error) error) (failed error) {
	if err != nil {
		return err
	}
	defer func() {
		if err := rows.Close(); err != nil && failed == nil {
			failed = err
		}
	}()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
