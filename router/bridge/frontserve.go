package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// lastAnswers is how long answers are waited for, and then how long it may take the
	// client to read them, once it sends nothing more.
	lastAnswers = 10 * time.Second
	// leave is how long a goroutine has to end once it was told to.
	leave = time.Second
)

// Serve serves the client until it sends nothing more, which is no error, or ctx
// ends, which is ctx's. A client that closes its stream still gets the answers that
// come within 10 s. It may be called once.
//
// A stream that blocks is left by its deadline, where it has one; else it is closed,
// unless it is an *os.File: those without a deadline cannot be left. A read of one, or
// a write and who waits to write next, then stay for as long as the program runs;
// nothing is taken from it any more.
func (f *Front) Serve(ctx context.Context) error {
	f.mu.Lock()
	if f.state != frontNew {
		f.mu.Unlock()
		return errors.New("a front serves once")
	}
	f.state = frontServing
	f.mu.Unlock()
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	var readErr, writeErr error
	last, read, wrote := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { defer close(read); readErr = f.read(work) }()
	go func() { defer cancel(); defer close(wrote); writeErr = f.write(last) }()
	select {
	case <-read:
	case <-wrote:
	case <-ctx.Done():
	}
	patience, err := leave, context.Cause(ctx)
	switch {
	case err != nil:
	case ended(wrote):
		err = writeErr
	default:
		patience, err = lastAnswers, readErr
	}
	f.stop()
	until(ctx, f.quiet, patience)
	cancel()
	until(ctx, f.quiet, leave)
	close(last)
	until(ctx, wrote, patience)
	f.close()
	part(ctx, wrote, f.out, setWriteDeadline)
	part(ctx, read, f.from, setReadDeadline)
	return err
}

// batch is how many bytes are gathered for one write, as long as there are any.
const batch = 64 << 10

// write writes what is in the outbox, until last is closed and nothing is in it. It
// leaves with the pen: what comes later is not written.
func (f *Front) write(last <-chan struct{}) error {
	for {
		ending := ended(last)
		<-f.pen
		some, err := f.writeBatch()
		if err != nil || ending && !some {
			return err
		}
		if f.pen <- struct{}{}; some {
			continue
		}
		select {
		case <-f.wake:
		case <-last:
		}
	}
}

// post has what is in the outbox written: by its caller, who may wait for the client,
// where nobody writes, which spares the way to another goroutine; else by write.
func (f *Front) post() {
	select {
	case <-f.pen:
		_, err := f.writeBatch()
		f.pen <- struct{}{}
		if err == nil && !f.unwritten() {
			return // what has come since found the pen, or wakes the writer
		}
	default:
	}
	signal(f.wake)
}

func (f *Front) unwritten() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.box.empty()
}

// writeBatch writes as much as goes into one write; some: there was something. The
// caller has the pen.
func (f *Front) writeBatch() (some bool, err error) {
	if f.broken != nil {
		return false, f.broken
	}
	if f.buf = f.gather(f.buf[:0]); len(f.buf) == 0 {
		return false, nil
	}
	if _, err := f.out.Write(f.buf); err != nil {
		f.broken = fmt.Errorf("writing to the client: %w", err)
	}
	if cap(f.buf) > 4*batch {
		f.buf = nil
	}
	return true, f.broken
}

func (f *Front) gather(buf []byte) []byte {
	for len(buf) < batch {
		e, ok := f.next()
		if !ok {
			break
		}
		buf = e.append(buf)
	}
	return buf
}

// next takes what is to be written next, which counts as written from then on.
func (f *Front) next() (e envelope, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		full := f.box.finalBytes > f.most
		o, ok := f.box.next()
		if !ok {
			return e, false
		}
		if full && f.box.finalBytes <= f.most {
			signal(f.room)
		}
		if a := o.asks; a != nil {
			if a.written = true; a.left {
				f.asks--
				continue
			}
		}
		if c := o.answers; c != nil {
			if delete(f.open, c.key); c.cancelled {
				continue
			}
		}
		return o.envelope, true
	}
}

// stop takes no more in. Those who wait for the client's answer are told.
func (f *Front) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = frontEnding
	close(f.gone)
	for _, a := range f.asked { // each has its own channel: the order is nobody's
		f.forget(a)
		a.answer <- askAnswer{err: ErrClientGone}
	}
	f.hush()
}

// hush notes when no request is served any more, and none can come. The caller holds
// mu.
func (f *Front) hush() {
	if f.state >= frontEnding && f.serving == 0 && !ended(f.quiet) {
		close(f.quiet)
	}
}

// close drops what was not written.
func (f *Front) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = frontClosed
	if f.box.lost > 0 || f.strays > 0 {
		f.logger.Info("the client is gone",
			"notifications_that_gave_way", f.box.lost, "answers_to_nothing", f.strays)
	}
	f.box = outbox{}
	clear(f.open)
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// until waits for done: at most d, and at most a moment once ctx has ended.
func until(ctx context.Context, done <-chan struct{}, d time.Duration) {
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-done:
		return
	case <-patience.C:
		return
	case <-ctx.Done():
	}
	moment := time.NewTimer(min(d, leave))
	defer moment.Stop()
	select {
	case <-done:
	case <-moment.C:
	}
}

// part gets a goroutine out of a stream that it may be blocked in.
func part(ctx context.Context, done <-chan struct{}, stream any, deadline func(any) error) {
	if ended(done) {
		return
	}
	if deadline(stream) != nil {
		closer, can := stream.(io.Closer)
		if _, file := stream.(*os.File); file || !can || closer.Close() != nil {
			return // it is left behind
		}
	}
	until(ctx, done, leave)
}

func setReadDeadline(stream any) error {
	if s, can := stream.(interface{ SetReadDeadline(time.Time) error }); can {
		return s.SetReadDeadline(time.Unix(1, 0))
	}
	return os.ErrNoDeadline
}

func setWriteDeadline(stream any) error {
	if s, can := stream.(interface{ SetWriteDeadline(time.Time) error }); can {
		return s.SetWriteDeadline(time.Unix(1, 0))
	}
	return os.ErrNoDeadline
}
