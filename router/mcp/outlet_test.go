//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
)

// outletTo is an outlet into a pipe; what it told of the loss of its reader is counted.
func outletTo(t *testing.T) (o *outlet, from *os.File, lost *int) {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	lost = new(int)
	dead := make(chan struct{})
	o = newOutlet(to, dead, func() { *lost++ })
	var running sync.WaitGroup
	running.Go(o.run)
	t.Cleanup(func() {
		close(dead)
		to.Close()   //nolint:errcheck // it ends a write that waits
		from.Close() //nolint:errcheck // a test may have closed it
		running.Wait()
	})
	return o, from, lost
}

// fill writes to a pipe that nobody reads until it takes no more.
func fill(t *testing.T, o *outlet) (n int) {
	t.Helper()
	for {
		some, err := writeSome(o.raw, []byte("filler\n"))
		if err != nil {
			t.Fatal(err)
		}
		if n += some; some < len("filler\n") {
			return n
		}
	}
}

func TestMessagesReachAChildWholeAndInTheOrderOfEachWhoBringsThem(t *testing.T) {
	t.Parallel()
	o, from, _ := outletTo(t)
	const writers, each = 8, 300
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			draw := rand.New(rand.NewPCG(1, uint64(w)))
			for n := range each {
				size := draw.IntN(200)
				if draw.IntN(20) == 0 {
					size = draw.IntN(200 << 10) // more than a pipe holds
				}
				f := &frame{data: fmt.Appendf(nil, "%d %d %d %s\n", w, n, size, strings.Repeat("x", size))}
				if !o.put(f, t.Context().Done()) {
					t.Errorf("message %d of %d found no place", n, w)
				}
			}
		})
	}
	next := [writers]int{}
	in := bufio.NewReaderSize(from, 1<<20)
	for range writers * each {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var w, n, size int
		if _, err := fmt.Sscanf(line, "%d %d %d", &w, &n, &size); err != nil {
			t.Fatalf("%.80q: %v", line, err)
		}
		if !strings.HasSuffix(line, " "+strings.Repeat("x", size)+"\n") {
			t.Fatalf("message %d of %d is not whole: %.80q", n, w, line)
		}
		if n != next[w] {
			t.Fatalf("message %d of %d came where %d was due", n, w, next[w])
		}
		next[w]++
	}
	writing.Wait()
}

func TestOfARequestThatFoundNoRoomNothingHasLeft(t *testing.T) {
	t.Parallel()
	o, from, _ := outletTo(t)
	n := fill(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	f := &frame{data: []byte("withdrawn\n"), flight: alone(ctx, 1)}
	if o.now(f) || f.flight.left() {
		t.Fatalf("a pipe that is full took it, or it counts as having left: %t", f.flight.left())
	}
	// One before it waits for the reader, so that it is still queued when it is withdrawn.
	if !o.put(&frame{data: []byte("before\n")}, nil) || !o.put(f, nil) {
		t.Fatal("the queue is full")
	}
	cancel()
	f.flight.settle()
	if !o.put(&frame{data: []byte("after\n")}, nil) {
		t.Fatal("the queue is full")
	}
	if _, err := io.CopyN(io.Discard, from, int64(n)); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, len("before\nafter\n"))
	if _, err := io.ReadFull(from, rest); err != nil || string(rest) != "before\nafter\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if f.flight.left() || f.flight.owesNotice() {
		t.Error("it counts as having left")
	}
}

func TestNobodyOvertakesWhatIsQueued(t *testing.T) {
	t.Parallel()
	o, from, _ := outletTo(t)
	n := fill(t, o)
	var want bytes.Buffer
	for i := range queued {
		f := &frame{data: fmt.Appendf(nil, "message %d\n", i)}
		want.Write(f.data)
		if !o.put(f, nil) {
			t.Fatal("the queue is full")
		}
		if i == queued/2 { // there is room again, and still some before those that come
			if _, err := io.CopyN(io.Discard, from, int64(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := make([]byte, want.Len())
	if _, err := io.ReadFull(from, got); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%q, %v; want %q", got, err, want.String())
	}
}

func TestWhatAClosedChildRefusedHasNotLeft(t *testing.T) {
	t.Parallel()
	o, from, lost := outletTo(t)
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	f := &frame{data: []byte("refused\n"), flight: alone(t.Context(), 1)}
	if !o.now(f) || !f.refused.Load() || *lost != 1 {
		t.Errorf("refused %t, told %d times", f.refused.Load(), *lost)
	}
	if next := (&frame{data: []byte("next\n")}); o.now(next) {
		t.Error("something was written after that")
	}
}
