package bridge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// LineOptions tune a [Line]; the zero value of each field is its default.
type LineOptions struct {
	Name         string        // of the server, for people
	PingInterval time.Duration // silence after which a heartbeat is due; 20 s, negative: never
	PingTimeout  time.Duration // for one heartbeat; 5 s
	Strikes      int           // heartbeats missed in a row that end a session; 3
	Queue        int           // requests that may wait while the server is away; 100
	Wait         time.Duration // longest a request waits for a session; 50 s: many clients give up after 60
	Connect      time.Duration // for one attempt to connect and restore; 60 s
	Backoff      mcp.Backoff   // between attempts (R35)
	Events       mcp.Events    // told of what the server sends by itself
	// Restore makes a new session what the last one was, before anything else leaves on
	// it. Its failure is the attempt's. Nil: there is nothing to restore.
	Restore func(ctx context.Context, s Session) *router.CallError
	// OnStatus is told of each change, one after another. It must neither block nor
	// close the line. Nil: nobody is.
	OnStatus func(Status)
	Logger   *slog.Logger // nil: nothing is logged
}

func (o *LineOptions) withDefaults() LineOptions {
	var d LineOptions
	if o != nil {
		d = *o
	}
	or := func(d *time.Duration, fallback time.Duration) {
		if *d == 0 {
			*d = fallback
		}
	}
	or(&d.PingInterval, 20*time.Second)
	or(&d.PingTimeout, 5*time.Second)
	or(&d.Wait, 50*time.Second)
	or(&d.Connect, time.Minute)
	if d.Strikes <= 0 {
		d.Strikes = 3
	}
	if d.Queue <= 0 {
		d.Queue = 100
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// Line is a stable end of what leads to one server: requests go in, live sessions are
// replaced underneath. The package's documentation has its states and orderings. It
// is safe for use by several goroutines.
type Line struct {
	o    LineOptions
	dial Dial

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	hard context.Context // ends when Close has no more time
	cut  context.CancelFunc
	work sync.WaitGroup

	more  chan struct{} // something may leave
	hurry chan struct{} // an attempt is to be made at once

	mu       sync.Mutex
	state    State
	since    time.Time
	live     *live // what requests leave on; nil while there is none
	waiting  queue
	leaving  *leaving             // the last that was taken out of the queue, until it has left
	out      map[*errand]struct{} // sent, without an outcome
	places   uint64
	pace     pace
	pausing  bool              // the keeper waits for the back-off to end
	attempts int               // failed since the server is away
	tried    uint64            // attempts that failed, ever
	sessions int               // ever
	why      *router.CallError // the last attempt's failure, or the end of the session
	hopeless bool              // the last attempt failed in a way that waiting does not cure
	changed  chan struct{}     // closed at the next change of what Ready looks at
	telling  telling           // what waits to be logged
	old      []*live           // given up, and going on with what they began; the oldest first
	last     *live             // the session given up last: what it had under way may come back
}

// NewLine makes a line, which is idle until the first request, or Ready.
func NewLine(dial Dial, o *LineOptions) *Line {
	l := &Line{
		o: o.withDefaults(), dial: dial, state: Idle, since: time.Now(), out: map[*errand]struct{}{},
		more: make(chan struct{}, 1), hurry: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.hard, l.cut = context.WithCancel(context.Background())
	l.pace.delay = func(n int) time.Duration { return l.o.Backoff.Delay(l.o.Name, n) }
	return l
}

// Begin takes a request in, after all that were begun before, and does not block;
// wait returns its outcome. When ctx ends the request is not sent any more, or its
// answer is not waited for. Every error says what became of the request.
//
// wait is to be called, and soon: where nothing is before the request it leaves at once,
// and wait is what takes in its answer.
func (l *Line) Begin(ctx context.Context, r *Request) (wait func() (mcp.Reply, *router.CallError)) {
	w := &errand{ctx: ctx, request: r, done: make(chan struct{})}
	v, out := l.enter(w)
	if v == nil {
		return w.wait
	}
	rest := l.start(v, w, out)
	var once sync.Once
	return func() (mcp.Reply, *router.CallError) {
		once.Do(rest)
		return w.wait()
	}
}

// enter takes w in. Where nothing is before it, it is not queued: it leaves on v, by its
// caller.
func (l *Line) enter(w *errand) (v *live, out *leaving) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.admit(w); e != nil {
		w.end(mcp.Reply{}, e)
		return nil, nil
	}
	now := time.Now()
	l.places++
	w.place, w.until = l.places, now.Add(l.o.Wait)
	if l.direct(now) {
		return l.live, l.sends(l.live, w, now)
	}
	l.waiting.add(w)
	l.watch(w)
	l.signal()
	return nil, nil
}

// watch looks at a request's clocks and its caller from here on.
func (l *Line) watch(w *errand) {
	if w.clock == nil {
		w.clock = time.AfterFunc(time.Until(w.until), func() { l.tick(w) })
		w.unwatch = context.AfterFunc(w.ctx, func() { l.leave(w) })
	}
}

// admit says why w is not taken in.
func (l *Line) admit(w *errand) *router.CallError {
	if l.state == Closed {
		return l.shut(state.NotExecuted)
	}
	if w.ctx.Err() != nil {
		return l.left(w)
	}
	if !l.urge() && l.hopeless {
		return l.away(l.why.Code, state.NotExecuted, "and waiting does not cure that")
	}
	if l.waiting.requests() < l.room() {
		return nil
	}
	for e := l.waiting.ended(); e != nil; e = l.waiting.ended() {
		l.waiting.remove(e)
		e.end(mcp.Reply{}, l.left(e))
	}
	if n := l.waiting.requests(); n >= l.room() {
		return l.full(n)
	}
	return nil
}

// burst is how many times Queue may wait while there is a session: they leave as fast
// as it takes them.
const burst = 10

func (l *Line) room() int {
	if l.live != nil {
		return burst * l.o.Queue
	}
	return l.o.Queue
}

// urge sees to it that there is a session, or an attempt at one. False: there is
// neither before the back-off has ended.
func (l *Line) urge() bool {
	switch {
	case l.state == Idle:
		l.become(Reconnecting)
		l.work.Go(l.keep)
	case l.pausing && !l.pace.prompt(time.Now()):
		return false
	case l.pausing:
		l.pausing = false
		l.hurry <- struct{}{} // it has room: the keeper takes it before it pauses again
	}
	return true
}

// Notify sends a notification on the live session, after the requests that were
// begun before it; without one it is dropped, as when many wait already. It does not
// block. When ctx ends it is not sent any more.
func (l *Line) Notify(ctx context.Context, n mcp.Notification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil || l.waiting.notes >= mostNotes {
		return
	}
	l.places++
	l.waiting.add(&errand{place: l.places, ctx: ctx, note: &n})
	l.signal()
}

// leave takes out a request whose caller has gone.
func (l *Line) leave(w *errand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.left(w)
	l.waiting.remove(w)
	l.end(w, mcp.Reply{}, e)
	for _, v := range l.old {
		v.drain()
	}
}

// end gives w its outcome.
func (l *Line) end(w *errand, reply mcp.Reply, e *router.CallError) {
	delete(l.out, w)
	w.end(reply, e)
}

// tick looks at a request's clocks.
func (l *Line) tick(w *errand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.over || l.sent(w) {
		return
	}
	now := time.Now()
	if !now.Before(w.until) {
		l.waiting.remove(w)
		w.end(mcp.Reply{}, l.late(w))
		return
	}
	w.clock.Reset(w.until.Sub(now))
	l.signal()
}

func (l *Line) sent(w *errand) bool {
	_, ok := l.out[w]
	return ok
}

// signal has the keeper look at the queue.
func (l *Line) signal() { signal(l.more) }
