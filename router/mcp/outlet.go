package mcp

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// queued is how many messages may wait for a child to read. A caller beyond it
// waits with its own context.
const queued = 16

// frame is one message on its way to the child.
type frame struct {
	data   []byte
	flight *flight // of a request, which decides whether it may still leave; else nil

	refused atomic.Bool // no byte of it was taken
}

// outlet is where messages go into a child: each is written by who brings it where the
// child has room for it, which spares two threads' meeting, else by the outlet's own
// goroutine.
//
// Invariants:
//
//  1. One message is written at a time, and as a whole: by who holds the pen. Of one
//     that the child took a part of, the rest goes to the goroutine with the pen.
//  2. A message leaves after all that had their place before it: where one is queued,
//     or is being written from the queue, nobody writes past it.
//  3. Nobody but the goroutine waits for the child. The queue is bounded.
//  4. A message of which nothing was taken has not left: it may be withdrawn while it
//     waits, and did not execute.
//  5. After a failed write nothing is written: the pen is not given back.
type outlet struct {
	file *os.File
	raw  syscall.RawConn // nil: this system cannot write without waiting
	dead <-chan struct{} // closed when nothing more is to be written
	lost func()          // told that the child takes nothing any more

	pen    chan struct{} // holds one while nobody writes
	rest   chan []byte   // of a message that is partly written
	frames chan *frame
	before atomic.Int64 // messages that are in frames, on their way there or from there
}

func newOutlet(file *os.File, dead <-chan struct{}, lost func()) *outlet {
	o := &outlet{
		file: file, dead: dead, lost: lost,
		pen: make(chan struct{}, 1), rest: make(chan []byte, 1), frames: make(chan *frame, queued),
	}
	o.pen <- struct{}{}
	if file.SetWriteDeadline(time.Time{}) == nil { // so that no write waits in the system
		o.raw, _ = file.SyscallConn() //nolint:errcheck // nil then
	}
	return o
}

// put has a message leave at once, or in its turn. It waits for a place no longer than
// until done or given is closed; false: it has none.
func (o *outlet) put(f *frame, done <-chan struct{}) bool {
	if o.now(f) {
		return true
	}
	o.before.Add(1)
	select {
	case o.frames <- f:
		return true
	case <-done:
	case <-o.dead:
	}
	o.before.Add(-1)
	return false
}

// offer is put for one who does not wait: without a place f is dropped.
func (o *outlet) offer(f *frame) {
	if o.now(f) {
		return
	}
	o.before.Add(1)
	select {
	case o.frames <- f:
	default:
		o.before.Add(-1)
	}
}

// now writes a message that nothing is before, as far as the child has room. False: it
// has to wait, and nothing of it has left.
func (o *outlet) now(f *frame) bool {
	if o.raw == nil {
		return false
	}
	select {
	case <-o.pen:
	default:
		return false
	}
	if o.before.Load() > 0 {
		o.pen <- struct{}{}
		return false
	}
	if f.flight != nil && !f.flight.leave() {
		o.pen <- struct{}{}
		return true // it has ended
	}
	n, err := writeSome(o.raw, f.data)
	switch {
	case err != nil:
		f.refused.Store(n == 0)
		o.lost()
	case n == len(f.data):
		o.pen <- struct{}{}
	case n > 0:
		o.rest <- f.data[n:]
	default:
		if f.flight != nil {
			f.flight.stay()
		}
		o.pen <- struct{}{}
		return false
	}
	return true
}

// run writes what could not be written at once, until there is nobody to write to.
func (o *outlet) run() {
	for {
		select {
		case rest := <-o.rest:
			if !o.finish(rest) {
				return
			}
		case f := <-o.frames:
			if !o.take() || !o.write(f) {
				return
			}
			o.before.Add(-1)
		case <-o.dead:
			return
		}
		o.pen <- struct{}{}
	}
}

// take waits for the pen, with which the rest of a message may come.
func (o *outlet) take() bool {
	select {
	case <-o.pen:
		return true
	case rest := <-o.rest:
		return o.finish(rest)
	case <-o.dead:
		return false
	}
}

func (o *outlet) write(f *frame) bool {
	if f.flight != nil && !f.flight.leave() {
		return true
	}
	n, err := o.file.Write(f.data)
	if err != nil {
		f.refused.Store(n == 0)
		o.lost()
	}
	return err == nil
}

func (o *outlet) finish(rest []byte) bool {
	_, err := o.file.Write(rest)
	if err != nil {
		o.lost()
	}
	return err == nil
}
