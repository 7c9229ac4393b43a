package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/review"
	"junction/state"
)

// patience bounds each wait of a lab for an event that must come.
const patience = 30 * time.Second

// way is how a lab speaks to its server.
type way struct {
	kind   review.Kind
	modern bool
}

// ways are all there are.
var ways = []way{{review.Stdio, false}, {review.Stdio, true}, {review.LegacyHTTP, false}, {review.HTTP, true}}

func (w way) String() string {
	switch {
	case w.kind == review.Stdio && w.modern:
		return "stdio, 2026-07-28"
	case w.kind == review.Stdio:
		return "stdio, 2025-11-25"
	case w.modern:
		return "HTTP, 2026-07-28"
	}
	return "HTTP, 2025-11-25"
}

// bench is one client and one stage.
type bench struct {
	way
	stage   *stage
	client  *mcp.Client
	server  *router.Server
	strays  chan mcp.Stray
	reports chan int // of progress that the client told of
	end     func()
}

func newBench(ctx context.Context, w way) (*bench, error) {
	b := &bench{way: w, stage: newStage(w.modern), strays: make(chan mcp.Stray, 1024), reports: make(chan int, 1024)}
	open := b.stage.overHTTP
	if w.kind == review.Stdio {
		open = b.stage.overPipe
	}
	dial, end, err := open(ctx)
	if err != nil {
		return nil, err
	}
	b.end, b.server = end, &router.Server{ID: "stage", Name: "stage", Source: "file", Dial: dial}
	b.client = mcp.New(&mcp.Options{OnStray: func(_ string, kind mcp.Stray) {
		select {
		case b.strays <- kind:
		default: // counted all the same
		}
	}})
	if _, err := b.client.Describe(ctx, b.server); err != nil { // so that no clock counts the start
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

// close ends the client first: what it still has to say, it says by then.
func (b *bench) close(ctx context.Context) error {
	err := b.client.Close(ctx)
	b.end()
	return err
}

// ending is how a call ended for its caller.
type ending struct {
	result *router.ToolResult
	err    error
	took   time.Duration
}

// call begins a call, and returns it as the server has it in hand.
func (b *bench) call(ctx context.Context, idle, maximum time.Duration) (*scene, <-chan ending, error) {
	ended := make(chan ending, 1)
	began := time.Now()
	told := func(n, _ float64, _ string) {
		select {
		case b.reports <- int(n):
		default: // nobody waits for so many
		}
	}
	go func() {
		result, err := b.client.Call(ctx, b.server, router.ToolCall{Tool: "work", Idle: idle, Max: maximum, Progress: told})
		ended <- ending{result, err, time.Since(began)}
	}()
	select {
	case c := <-b.stage.calls:
		return c, ended, nil
	case e := <-ended:
		return nil, nil, fmt.Errorf("the call never reached the server: %w", e.err)
	case <-time.After(patience):
		return nil, nil, errors.New("the call does not reach the server")
	}
}

// await waits for an event that must come.
func await[T any](events <-chan T, what string) (v T, err error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v = <-events:
		return v, nil
	case <-limit.C:
		return v, fmt.Errorf("not within %s: %s", patience, what)
	}
}

// works makes a call that is answered at once: what went before harmed nothing.
func (b *bench) works(ctx context.Context) (*scene, error) {
	c, ended, err := b.call(ctx, patience, patience)
	if err != nil {
		return nil, err
	}
	defer close(c.done)
	if err := c.answer("works"); err != nil {
		return nil, err
	}
	e, err := await(ended, "the answer of the next call")
	switch {
	case err != nil:
		return nil, err
	case e.err != nil:
		return nil, fmt.Errorf("the next call: %w", e.err)
	case e.result.Text != "works":
		return nil, fmt.Errorf("the next call was answered %q", e.result.Text)
	}
	return c, nil
}

// terminal puts down how the call ended.
func terminal(r *review.Race, e ending) {
	r.Final = review.NoFinal
	if e.err == nil {
		r.Status = state.CallSuccess
		if e.result.Text == "done" {
			r.Final = review.TheResult
		}
		return
	}
	r.Status = state.CallError
	failure, ok := errors.AsType[*router.CallError](e.err)
	if !ok {
		return
	}
	r.Code, r.Clock, r.Execution = failure.Code, failure.Clock, failure.Execution
	switch failure.Code {
	case router.Cancelled:
		r.Status = state.CallCancelled
	case router.Timeout:
		r.Status = state.CallTimeout
	}
}

// wireSignal is what the server saw of the end of a request.
func wireSignal(notice, streamClosed bool, k review.Kind) review.Signal {
	switch {
	case notice && streamClosed:
		return review.StreamNotice
	case streamClosed:
		return review.StreamClosed
	case notice && k == review.Stdio:
		return review.Notice
	case notice:
		return "notifications/cancelled is posted, the stream stays open" // none of ours
	}
	return review.NoSignal
}
