package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router/bridge"
	"junction/router/mcp"
)

// Not parallel: it measures the heap.
func TestAClientThatDoesNotReadCostsNoMemoryAndMissesNoAnswer(t *testing.T) {
	const requests, notifications = 1000, 100_000
	release := make(chan struct{})
	var begun atomic.Int64
	p := newPeer(t, frontHandler{begin: func(context.Context, string, json.RawMessage) func() mcp.Reply {
		begun.Add(1)
		return func() mcp.Reply {
			<-release
			return mcp.Reply{Result: json.RawMessage(`{"content":[]}`)}
		}
	}}, nil)
	for id := range requests {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`+"\n", id))
	}
	tell := func(many int) {
		for i := range many {
			switch i % 4 {
			case 0:
				p.front.Notify(mcp.Notification{Method: "notifications/tools/list_changed"})
			case 1:
				p.front.Notify(mcp.Notification{Method: "notifications/progress", Params: json.RawMessage(fmt.Sprintf(`{"progressToken":%d,"progress":%d}`, i%100, i))})
			default:
				p.front.Notify(mcp.Notification{Method: "notifications/message", Params: json.RawMessage(fmt.Sprintf(`{"level":"info","data":%d}`, i))})
			}
		}
	}
	tell(notifications / 20)
	before := heap()
	close(release)
	tell(notifications)
	p.front.Notify(mcp.Notification{Method: "last"})
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d bytes more are held after %d notifications", grown, notifications)
	}
	answers, others := map[string]int{}, map[string]int{}
	for others["last"] == 0 || len(answers) < requests {
		line := p.line()
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if m.ID != nil {
			answers[string(m.ID)]++
		} else {
			others[m.Method]++
		}
	}
	if begun.Load() != requests || len(answers) != requests {
		t.Errorf("%d requests, %d answers", begun.Load(), len(answers))
	}
	for id, n := range answers {
		if n != 1 {
			t.Errorf("%s is answered %d times", id, n)
		}
	}
	if n := others["notifications/tools/list_changed"]; n < 1 || n > 3 {
		t.Errorf("a list changed %d times", n)
	}
	t.Logf("of %d notifications %v left", notifications, others)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestNothingMoreIsReadFromAClientThatLeavesTooMuchUnread(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	var begun atomic.Int64
	answer := `"` + strings.Repeat("a", 5_000) + `"`
	p := newPeer(t, frontHandler{begin: func(context.Context, string, json.RawMessage) func() mcp.Reply {
		begun.Add(1)
		return result(answer)
	}}, nil, func(f *bridge.Front) { f.Hold(most) })
	const requests = 1000
	sent := make(chan error, 1)
	var left atomic.Int64
	go func() {
		for id := range requests {
			if _, err := fmt.Fprintf(p.to, `{"jsonrpc":"2.0","id":%d,"method":"x"}`+"\n", id); err != nil {
				sent <- err
				return
			}
			left.Add(1)
		}
		sent <- nil
	}()
	// It stands still: what came in is answered, and what is to come has to wait.
	for stood, last := 0, int64(-1); stood < 20; {
		tick(t)
		if now := left.Load(); now == last {
			stood++
		} else {
			stood, last = 0, now
		}
	}
	if n := begun.Load(); n < 5 || n > 900 {
		t.Errorf("%d requests were taken in, though %d bytes of answers fill it", n, most)
	}
	seen := map[string]bool{}
	for range requests {
		line := p.line()
		id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"jsonrpc":"2.0","id":`), ",")
		if seen[id] || !strings.HasSuffix(line, `aaa"}`) {
			t.Fatalf("%.100s", line)
		}
		seen[id] = true
	}
	if err := within(t, sent); err != nil {
		t.Error(err)
	}
}

// tick lets others run for a moment.
func tick(t *testing.T) {
	t.Helper()
	moment := time.NewTimer(2 * time.Millisecond)
	defer moment.Stop()
	<-moment.C
}

// endless is a line without an end.
type endless struct {
	read atomic.Int64
	most int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read.Add(int64(len(p))) > e.most {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Not parallel: it measures the heap.
func TestALineWithoutAnEndIsReadInBoundedMemory(t *testing.T) {
	e := &endless{most: 32 << 20}
	var out strings.Builder
	before := total()
	err := bridge.NewFront(e, &out, frontHandler{}, &bridge.FrontOptions{MaxMessage: 128 << 10}).Serve(t.Context())
	if grown := total() - before; grown > 2<<20 {
		t.Errorf("%d bytes were allocated for a line that is too long after 128 KiB", grown)
	}
	if err != nil || !strings.HasPrefix(out.String(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Error(err, out.String())
	}
}

func total() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

func TestAClientThatSendsNothingMoreStillGetsTheAnswersThatCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := holdBack("soon", "never")
		p := newPeer(t, frontHandler{begin: h.begin}, nil)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"soon"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"never"}` + "\n")
		asked := p.ask(t.Context(), "roots/list", `{}`)
		p.asked("roots/list")
		p.to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
		closed := time.Now()
		if a := <-asked; !errors.Is(a.err, bridge.ErrClientGone) {
			t.Error(a)
		}
		after(5*time.Second, func() { close(h.release["soon"]) })
		p.expect(`{"jsonrpc":"2.0","id":1,"result":"soon"}`)
		p.expect(`{"jsonrpc":"2.0","id":2,"result":"never"}`) // what it says when it is ended
		if err := p.over(); err != nil {
			t.Error(err)
		}
		if d := time.Since(closed); d != 10*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

func after(d time.Duration, f func()) { time.AfterFunc(d, f) }

func TestTheEndOfTheContextEndsEverything(t *testing.T) {
	t.Parallel()
	why := errors.New("the program ends")
	for name, test := range map[string]struct {
		in    io.Reader
		out   io.Writer
		takes time.Duration
	}{
		"reader and writer are blocked": {in: piped(t), out: full(t), takes: time.Second},
		"files are blocked":             {in: quietFile(t), out: fullFile(t), takes: time.Second},
		"the reader cannot be left":     {in: stuck{t.Context().Done()}, out: io.Discard, takes: time.Second},
		"the writer cannot be left":     {in: piped(t), out: stuck{t.Context().Done()}, takes: 2 * time.Second},
		"nothing is blocked":            {in: piped(t), out: io.Discard},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.Background())
			f := bridge.NewFront(test.in, test.out, frontHandler{}, nil)
			served := make(chan error, 1)
			go func() { served <- f.Serve(ctx) }()
			for range 100 {
				f.Notify(mcp.Notification{Method: "notifications/message", Params: json.RawMessage(`"` + strings.Repeat("a", 10_000) + `"`)})
			}
			tick(t)
			began := time.Now()
			cancel(why)
			if err := within(t, served); !errors.Is(err, why) {
				t.Error(err)
			}
			if d := time.Since(began); d > test.takes+3*time.Second {
				t.Errorf("it took %v", d)
			}
			if err := f.Serve(ctx); err == nil {
				t.Error("it serves twice")
			}
		})
	}
}

// stuck is a stream that blocks, and neither closes nor has a deadline.
type stuck struct{ done <-chan struct{} }

func (s stuck) Read([]byte) (int, error)  { <-s.done; return 0, io.EOF }
func (s stuck) Write([]byte) (int, error) { <-s.done; return 0, io.ErrClosedPipe }

func piped(t *testing.T) io.Reader {
	in, to := io.Pipe()
	t.Cleanup(func() { to.Close() }) //nolint:errcheck // a pipe's writer cannot fail to close
	return in
}

func full(t *testing.T) io.Writer {
	from, out := io.Pipe()
	t.Cleanup(func() { from.Close() }) //nolint:errcheck // a pipe's reader cannot fail to close
	return out
}

func quietFile(t *testing.T) io.Reader {
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); to.Close() }) //nolint:errcheck // only a test's
	return in
}

func fullFile(t *testing.T) io.Writer {
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); out.Close() }) //nolint:errcheck // only a test's
	return out
}

// broken is a client that reads nothing any more.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAClientThatCannotBeWrittenToIsGone(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	h := holdBack("x")
	f := bridge.NewFront(in, broken{}, frontHandler{begin: h.begin}, nil)
	served := make(chan error, 1)
	go func() { served <- f.Serve(context.Background()) }()
	fmt.Fprintln(to, `{"jsonrpc":"2.0","id":1,"method":"x"}`) //nolint:errcheck // a pipe
	within(t, h.begun)
	f.Notify(mcp.Notification{Method: "x"})
	if err := within(t, served); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if method := within(t, h.ended); method != "x" {
		t.Error(method)
	}
}

func TestAClientThatCannotBeReadFromIsAnError(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	why := errors.New("the line is cut")
	f := bridge.NewFront(in, io.Discard, frontHandler{}, nil)
	to.CloseWithError(why) //nolint:errcheck // a pipe's writer cannot fail to close
	if err := f.Serve(context.Background()); !errors.Is(err, why) {
		t.Error(err)
	}
}
