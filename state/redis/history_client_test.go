package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// envClient makes the test binary a client of a trial.
const envClient = "JUNCTION_HISTORY_CLIENT"

// role is what a client of a trial is told.
type role struct {
	Address string   `json:"address"` // of its proxy
	Prefix  string   `json:"prefix"`
	Name    string   `json:"name"` // nobody else's
	File    string   `json:"file"` // to write its lines to
	Threads []string `json:"threads"`
	Seed    uint64   `json:"seed"`
	Turns   int      `json:"turns"` // at most
}

// How long an operation of a client is tried again, and how long a try may take:
// longer than any fault lasts.
const (
	patience  = 20 * time.Second
	clientTry = 2 * time.Second
)

// TestHistoryClient is a process of its own, started by a trial. It ends after its
// turns, or with its input.
func TestHistoryClient(t *testing.T) {
	text := os.Getenv(envClient)
	if text == "" {
		t.Skip("a client of TestHistoryOfManyProcesses, which starts it")
	}
	var r role
	must(t, json.Unmarshal([]byte(text), &r))
	s := r.open(t)
	defer func() { must(t, s.Close()) }()
	ls, err := createLines(r.File)
	must(t, err)
	defer func() { must(t, ls.file.Close()) }()
	c := &client{t: t, s: s, lines: ls, role: r, draw: rand.New(rand.NewPCG(r.Seed, 0))}
	s.client.AddHook(lostTries{ls})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		defer end()
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "client:", err)
		}
	}()
	fmt.Println(ready)
	for turn := 0; turn < r.Turns && ctx.Err() == nil; turn++ {
		c.turn(ctx)
	}
}

// open connects, also while the server is down.
func (r role) open(t *testing.T) *Store {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := Open(ctx, r.Address, &Options{Prefix: r.Prefix, Timeout: clientTry, Retry: patience})
		if err == nil {
			return s
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// ready is what a client says when it has opened its store.
const ready = "ready"

// client works on threads as a fleet of careless workers would: it lets leases run
// out, and writes under those that it has no more.
type client struct {
	role
	t     *testing.T
	s     *Store
	lines lines
	draw  *rand.Rand
	count int
}

// lostTries writes down the tries of operations that were not answered.
type lostTries struct{ lines lines }

func (l lostTries) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (l lostTries) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		return l.note(next(ctx, cmd))
	}
}

func (l lostTries) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		return l.note(next(ctx, cmds))
	}
}

// note writes down a try. Where the connection ended, the server has read by then
// what it will ever read, before anything that comes on another one; where time
// ran out, it may not have.
func (l lostTries) note(err error) error {
	if err == nil || answered(err) {
		return err
	}
	late := timedOut(err) || errors.Is(err, context.DeadlineExceeded)
	if failed := l.lines.add(line{At: time.Now().UnixNano(), Lost: true, Late: late}); failed != nil {
		panic(failed) // the history would lack what happened
	}
	return err
}

// ask calls an operation and writes down what comes of it.
func (c *client) ask(r request, do func(ctx context.Context, a *answer) error) answer {
	c.count++
	if r.ID == "" {
		r.ID = fmt.Sprintf("%s.%d", c.Name, c.count)
	}
	r.Owner = c.Name
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*patience)
	defer cancel()
	must(c.t, c.lines.add(line{At: time.Now().UnixNano(), Request: &r}))
	a := answer{End: endOK}
	err := do(ctx, &a)
	at := time.Now().UnixNano()
	var busy *state.BusyError
	switch {
	case err == nil:
	case errors.As(err, &busy):
		a.End, a.Owner, a.Remaining = endBusy, busy.Owner, busy.Remaining
	case errors.Is(err, state.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		a.End, a.Why = endUnknown, err.Error()
	case errors.Is(err, state.ErrRegressed), errors.Is(err, state.ErrVanished):
		a.End, a.Why = endFailed, err.Error()
	case errors.Is(err, state.ErrLeaseLost):
		a.End = endLost
	case errors.Is(err, state.ErrConflict):
		a.End = endConflict
	default:
		a.End, a.Why = endFailed, err.Error()
	}
	must(c.t, c.lines.add(line{At: at, Answer: &a}))
	return a
}
