//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// likely draws how large a message is: 1 byte of text to more than a pipe holds.
func likely(draw *rand.Rand) int {
	switch draw.IntN(10) {
	case 0:
		return draw.IntN(300 << 10)
	case 1, 2:
		return draw.IntN(16 << 10)
	}
	return 1 + draw.IntN(100)
}

// Callers give up whenever they like, while the child reads slowly.
func TestWhatIsSaidNotToHaveLeftNeverLeavesAndTheRestLeavesOnceAndWhole(t *testing.T) {
	t.Parallel()
	o, from, _ := outletTo(t)
	const writers, each = 8, 150
	var mu sync.Mutex
	kept, gone := map[string]bool{}, map[string]bool{} // certain to come, and never to
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			draw := rand.New(rand.NewPCG(2, uint64(w)))
			for n := range each {
				id := fmt.Sprintf("%d-%d", w, n)
				ctx, gives, size := t.Context(), draw.IntN(2) == 0, likely(draw)
				if gives {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(draw.IntN(300))*time.Microsecond)
					defer cancel()
				}
				f := &frame{data: fmt.Appendf(nil, "%s %d %s\n", id, size, strings.Repeat("x", size)), flight: alone(ctx, 1)}
				placed := o.put(f, ctx.Done())
				if gives {
					<-ctx.Done()
					f.flight.settle()
				}
				mu.Lock()
				switch {
				case !placed && (!gives || f.flight.left()):
					t.Errorf("%s has no place: left %t, given up %t", id, f.flight.left(), gives)
				case !gives || f.flight.left():
					kept[id] = true
				default:
					gone[id] = true
				}
				mu.Unlock()
			}
		})
	}
	all := make(chan map[string]int, 1)
	go func() {
		came := map[string]int{}
		defer func() { all <- came }()
		draw := rand.New(rand.NewPCG(3, 3))
		in := bufio.NewReaderSize(from, 512<<10)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Error(err)
				return
			}
			if line == "last\n" {
				return
			}
			id, rest, _ := strings.Cut(line, " ")
			size, text, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
			if n, err := strconv.Atoi(size); err != nil || text != strings.Repeat("x", n) {
				t.Errorf("not whole: %.80q", line)
			}
			came[id]++
			if draw.IntN(50) == 0 {
				<-time.After(time.Millisecond)
			}
		}
	}()
	writing.Wait()
	if !o.put(&frame{data: []byte("last\n")}, nil) {
		t.Fatal("the last has no place")
	}
	came := <-all
	for id := range kept {
		if came[id] != 1 {
			t.Errorf("%s came %d times", id, came[id])
		}
	}
	for id := range gone {
		if came[id] != 0 {
			t.Errorf("%s came, and is said not to have left", id)
		}
	}
	if len(gone) == 0 || len(kept) < writers*each/2 {
		t.Errorf("%d never left, %d came: nothing is shown", len(gone), len(kept))
	}
}

// played is a link to a child that a test plays: what goes into it, and what it says.
func played(t *testing.T) (s *stdio, in, out *os.File) {
	t.Helper()
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		var err error
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	exited := make(chan struct{})
	close(exited) // so that nobody waits for a status
	ch := &child{stdin: ends[1], stdout: ends[2], stderr: newTail(ends[4], nil), grace: time.Minute, exited: exited}
	s = newStdio(ch, 1<<20, &tally{}, nil)
	t.Cleanup(func() {
		for _, f := range []*os.File{ends[0], ends[3], ends[5]} {
			f.Close() //nolint:errcheck // a test may have closed it
		}
		s.stop(context.Background())
	})
	return s, ends[0], ends[3]
}

// sends begins a request of so many bytes.
func sends(ctx context.Context, s *stdio, id int64, size int) (p *piped, placed *bool) {
	_, ex := newExchange(ctx, id, alone(ctx, id))
	line := fmt.Appendf(nil, `{"id":%d,"x":"%s"}`+"\n", id, strings.Repeat("x", size))
	placed = new(bool)
	return s.begin(ex, line, func() { *placed = true }), placed
}

// became is what the wait of a request says of it.
func became(ctx context.Context, t *testing.T, p *piped) *router.CallError {
	t.Helper()
	a, e := p.wait(ctx)
	if e == nil {
		t.Fatalf("request %d was answered: %+v", p.id, a)
	}
	return e
}

func TestOfAChildThatTakesHalfAMessageAndDiesTheOthersHaveNotLeft(t *testing.T) {
	t.Parallel()
	s, in, out := played(t)
	half, placed := sends(t.Context(), s, 1, 1<<20)
	if !*placed {
		t.Error("it has its place only later")
	}
	next, placed := sends(t.Context(), s, 2, 1)
	if *placed {
		t.Error("the next has left before the rest of the first")
	}
	if _, err := io.CopyN(io.Discard, in, 100); err != nil {
		t.Fatal(err)
	}
	fates := make(chan *router.CallError, 2)
	go func() { fates <- became(t.Context(), t, next) }()
	for s.out.before.Load() == 0 { // it waits in the queue
		<-time.After(time.Millisecond)
	}
	in.Close()  //nolint:errcheck // only read from
	out.Close() //nolint:errcheck // nothing was written
	if e := <-fates; e.Execution != state.NotExecuted || e.Code != router.Transport {
		t.Errorf("the next: %s %s", e.Execution, e.Message)
	}
	if e := became(t.Context(), t, half); e.Execution != state.Unknown || e.Code != router.Transport {
		t.Errorf("the first: %s %s", e.Execution, e.Message)
	}
	later, _ := sends(t.Context(), s, 3, 1)
	if e := became(t.Context(), t, later); e.Execution != state.NotExecuted {
		t.Errorf("a later one: %s %s", e.Execution, e.Message)
	}
}

func TestOfAChildThatDiesBetweenTheHalvesOfARequestItIsUnknown(t *testing.T) {
	t.Parallel()
	s, in, out := played(t)
	left, _ := sends(t.Context(), s, 1, 1)
	in.Close()  //nolint:errcheck // only read from
	out.Close() //nolint:errcheck // nothing was written
	<-s.gone()
	if e := became(t.Context(), t, left); e.Execution != state.Unknown || left.flight.owesNotice() {
		t.Errorf("%s %s; a notice is owed: %t", e.Execution, e.Message, left.flight.owesNotice())
	}
}

// The child takes no more, but goes on to live and to speak.
func TestOfAChildThatClosesItsInputARequestHasNotLeft(t *testing.T) {
	t.Parallel()
	s, in, _ := played(t)
	in.Close() //nolint:errcheck // only read from
	refused, _ := sends(t.Context(), s, 1, 1)
	if e := became(t.Context(), t, refused); e.Execution != state.NotExecuted || !strings.Contains(e.Message, "status") {
		t.Errorf("%s %s", e.Execution, e.Message)
	}
}

func TestARequestThatFoundNoRoomAndWasGivenUpIsNeverSentNorCancelled(t *testing.T) {
	t.Parallel()
	s, in, _ := played(t)
	n := fill(t, s.out)
	ctx, cancel := context.WithCancel(t.Context())
	p, placed := sends(ctx, s, 1, 1)
	if *placed || p.flight.left() {
		t.Fatal("a full pipe took it")
	}
	cancel()
	if e := became(ctx, t, p); e.Execution != state.NotExecuted || e.Code != router.Cancelled || p.flight.owesNotice() {
		t.Errorf("%s %s", e.Execution, e.Message)
	}
	if !s.out.put(&frame{data: []byte("after\n")}, nil) {
		t.Fatal("the queue is full")
	}
	if _, err := io.CopyN(io.Discard, in, int64(n)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("after\n"))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "after\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnAnswerThatCameBeforeItIsWaitedForStands(t *testing.T) {
	t.Parallel()
	s, in, out := played(t)
	ctx, cancel := context.WithCancel(t.Context())
	p, _ := sends(ctx, s, 1, 1)
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"x":1}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	for len(p.reply) == 0 {
		<-time.After(time.Millisecond)
	}
	cancel()
	out.Close() //nolint:errcheck // what was written was read
	<-s.gone()
	a, e := p.wait(ctx)
	if e != nil || !bytes.Contains(a.resp.Result, []byte(`"x":1`)) {
		t.Errorf("%+v, %v", a, e)
	}
	if _, e := s.begin(exchangeFor(ctx, 2), []byte("x\n"), nil).wait(ctx); e == nil || e.Execution != state.NotExecuted {
		t.Errorf("one whose caller has gone: %v", e)
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Fatal("it goes on")
	}
}

func exchangeFor(ctx context.Context, id int64) *exchange {
	_, ex := newExchange(ctx, id, alone(ctx, id))
	return ex
}
