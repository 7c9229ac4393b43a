package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"

	"junction/router/mcp"
)

// Errors of [Front.Ask] that are not the client's.
var (
	ErrClientGone = errors.New("the client is gone")
	ErrClientBusy = errors.New("too many requests wait for the client")
)

// FrontOptions change how a [Front] works.
type FrontOptions struct {
	// Requests is how many of the client's requests may be open at once; those beyond
	// are refused at once. So many of ours may wait for the client, too. 0: 4096.
	Requests int
	// MaxMessage is the longest line that is taken, in bytes; a longer one is skipped
	// and refused. Open requests together may hold four times as much, at least 64 MiB.
	// 0: 16 MiB.
	MaxMessage int
	// Logger is told of what nobody else is: panics, what the client sends and no
	// protocol knows. Nil: nobody is.
	Logger *slog.Logger
}

// A Front speaks with one client over a pair of streams, as a server does: JSON-RPC
// 2.0, a message a line.
//
//   - The client's ids are text or numbers, and are given back as they were written.
//     One that is open already is refused, without an id: with it the refusal could be
//     taken for the answer of the first.
//   - Answers leave as they come. A request that the client cancelled has none;
//     initialize cannot be cancelled.
//   - Notifications give way when the client is slow; answers do not. When a client
//     leaves more than 64 MiB of answers unread nothing more is read from it, and it is
//     asked nothing, until it reads, so that memory stays bounded.
//   - What is no message is answered with an error and an id where one is seen.
type Front struct {
	in       *mcp.Lines
	from     io.Reader
	out      io.Writer
	handler  Handler
	requests int
	longest  int
	most     int // bytes that open requests may hold, and answers before reading stops
	logger   *slog.Logger
	prefix   string // of our ids: nobody can guess it

	wake chan struct{} // there is something to write
	pen  chan struct{} // holds one while nobody writes
	room chan struct{} // there is room in the outbox again

	buf    []byte // for who has the pen, and
	broken error  // of a write: nothing is written any more

	mu      sync.Mutex
	box     outbox
	open    map[string]*frontCall // by id, until the answer is written
	held    int                   // bytes of requests that are being served
	serving int
	asked   map[string]*frontAsk // by id, until there is an answer
	asks    int                  // of ours, unanswered or unwritten
	number  int
	strays  int // answers to nothing
	state   frontState
	quiet   chan struct{} // closed when no more requests are taken in and none is served
	gone    chan struct{} // closed when no more requests are taken in
}

type frontState int

const (
	frontNew     frontState = iota
	frontServing            // both ways
	frontEnding             // nothing more is read
	frontClosed             // nothing more is written
)

// NewFront returns a front for the client that writes to in and reads from out.
// o may be nil.
func NewFront(in io.Reader, out io.Writer, h Handler, o *FrontOptions) *Front {
	if o == nil {
		o = &FrontOptions{}
	}
	f := &Front{
		from: in, out: out, handler: h, requests: o.Requests, logger: o.Logger,
		prefix: rand.Text(),
		wake:   make(chan struct{}, 1), pen: make(chan struct{}, 1), room: make(chan struct{}, 1), quiet: make(chan struct{}),
		gone: make(chan struct{}),
		open: make(map[string]*frontCall), asked: make(map[string]*frontAsk),
	}
	f.pen <- struct{}{}
	if f.longest = o.MaxMessage; f.longest <= 0 {
		f.longest = 16 << 20
	}
	if f.requests <= 0 {
		f.requests = 4096
	}
	if f.logger == nil {
		f.logger = slog.New(slog.DiscardHandler)
	}
	f.in = mcp.NewLines(in, f.longest)
	f.most = max(4*f.longest, 64<<20)
	return f
}

// Gone is closed once the client sends nothing more. It still reads the answers that
// come soon; what would only end with it, as a subscription does, ends now.
func (f *Front) Gone() <-chan struct{} { return f.gone }

// Notify sends the client a notification. It never blocks: one that says what a
// waiting one says takes its place, and where too many wait the oldest gives way.
// What changed in a list is told in the end, whatever else gave way.
func (f *Front) Notify(n mcp.Notification) {
	e := envelope{}
	e.method, _ = json.Marshal(n.Method) // a string has a JSON form
	if n.Params != nil {
		params, ok := oneLine(n.Params)
		if !ok {
			f.logger.Error("a notification to the client has no JSON form", "method", shown(n.Method))
			return
		}
		e.params = params
	}
	key, worth := describe(n.Method, &e)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == frontClosed {
		return
	}
	f.box.report(outgoing{envelope: e}, key, worth)
	signal(f.wake)
}

// frontAsk is a request of ours to the client. Its fields are the front's.
type frontAsk struct {
	id      string
	answer  chan askAnswer // has room for the one
	written bool
	left    bool // nobody waits for it
}

type askAnswer struct {
	reply mcp.Reply
	err   error
}

// Ask makes a request to the client and waits for its answer: as long as ctx, whose
// end the client is told.
func (f *Front) Ask(ctx context.Context, method string, params json.RawMessage) (mcp.Reply, error) {
	a, err := f.ask(method, params)
	if err != nil {
		return mcp.Reply{}, fmt.Errorf("asking the client for %s: %w", shown(method), err)
	}
	select {
	case got := <-a.answer:
		return got.reply, got.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	answered := !f.forget(a)
	if !answered && a.written {
		f.box.final(outgoing{envelope: envelope{
			method: json.RawMessage(`"notifications/cancelled"`),
			params: json.RawMessage(`{"requestId":` + a.id + `,"reason":"the answer is not needed any more"}`),
		}})
		signal(f.wake)
	}
	f.mu.Unlock()
	if answered {
		got := <-a.answer
		return got.reply, got.err
	}
	return mcp.Reply{}, context.Cause(ctx)
}

func (f *Front) ask(method string, params json.RawMessage) (*frontAsk, error) {
	e := envelope{}
	e.method, _ = json.Marshal(method) // a string has a JSON form
	if params != nil {
		var ok bool
		if e.params, ok = oneLine(params); !ok {
			return nil, errors.New("its parameters are no JSON")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.state >= frontEnding:
		return nil, ErrClientGone
	case f.asks >= f.requests, f.box.finalBytes > f.most:
		return nil, ErrClientBusy
	}
	f.number++
	f.asks++
	a := &frontAsk{id: `"` + f.prefix + "-" + strconv.Itoa(f.number) + `"`, answer: make(chan askAnswer, 1)}
	f.asked[a.id] = a
	e.id = json.RawMessage(a.id)
	f.box.final(outgoing{envelope: e, asks: a})
	signal(f.wake)
	return a, nil
}

// forget takes a out of those that wait; false: it did not wait any more. The caller
// holds mu.
func (f *Front) forget(a *frontAsk) bool {
	if f.asked[a.id] != a {
		return false
	}
	delete(f.asked, a.id)
	if a.left = true; a.written {
		f.asks--
	}
	return true
}

// settle hands an answer to the one of ours that it is for; false: there is none.
func (f *Front) settle(id json.RawMessage, got askAnswer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.asked[string(id)]
	if a == nil {
		f.strays++
		return false
	}
	f.forget(a)
	a.answer <- got
	return true
}

// signal wakes the one who waits on c, or will.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// shown is a name that the client or a server made up, for a log or an error.
func shown(name string) string { return strconv.Quote(name[:min(len(name), 100)]) }
