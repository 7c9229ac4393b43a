package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// died is the exit code of a server that was told to die.
const died = 9

// faults decides what goes wrong with a call, by its number and by a seeded
// draw, so that a trial can be repeated.
type faults struct {
	o   Options
	die func() // does not return

	mu   sync.Mutex
	n    int // calls begun
	rand *rand.Rand
}

func newFaults(o Options) *faults {
	return &faults{o: o, die: func() { os.Exit(died) }, rand: rand.New(rand.NewPCG(o.Seed, 0))} // repeatable, not secret
}

var errTold = errors.New("this server was told to fail")

// strike does to a call what the flags say. It returns an error for a call that
// has to fail.
//
// done is what to do between the call's end and its answer.
func (f *faults) strike(ctx context.Context, tool string) (done func(), err error) {
	is, err := f.o.now()
	if err != nil {
		return nil, err
	}
	n, fails, err := f.begin(tool, is.fail)
	if err != nil {
		return nil, err
	}
	done = func() {
		if f.o.LoseAfter >= 0 && n > f.o.LoseAfter {
			f.die()
		}
	}
	if err := wait(ctx, is.slow); err != nil {
		return nil, err
	}
	switch {
	case f.o.DieAfter >= 0 && n > f.o.DieAfter:
		f.die()
	case is.hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case fails:
		return nil, errTold
	}
	return done, nil
}

// probed does to a look at the capability what the flags say. Only --hang and
// --fail-health reach it: a server that is slow, or fails some of its calls, is
// not known to be ill before calls have met it.
func (f *faults) probed(probe func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		switch {
		case f.o.FailHealth:
			return errTold
		case f.o.Hang:
			<-ctx.Done()
			return fmt.Errorf("this server was told to hang: %w", ctx.Err())
		}
		return probe(ctx)
	}
}

// begin numbers a call, draws its luck and notes it down.
func (f *faults) begin(tool string, rate float64) (n int, fails bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	fails = f.n <= f.o.Fail.Count || f.rand.Float64() < rate
	if f.o.Calls == "" {
		return f.n, fails, nil
	}
	file, err := os.OpenFile(f.o.Calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, false, fmt.Errorf("note the call: %w", err)
	}
	_, err = fmt.Fprintf(file, "%s %d\n", tool, f.n)
	return f.n, fails, errors.Join(err, file.Close())
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// middleware counts a call, continues its trace, lets it meet its faults, and tells
// the client while it works that it is alive.
func (s *Server) middleware(next mcpserver.ToolHandlerFunc) mcpserver.ToolHandlerFunc {
	next = s.exposed(next)
	return func(ctx context.Context, r mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		ended := s.counts.called()
		defer func() { ended(ctx, result, err) }()
		if s.tracer == nil {
			return next(ctx, r)
		}
		ctx, over := s.tracer.Received(ctx, r.Params.Name, metaOf(r))
		defer func() { over(err != nil || result != nil && result.IsError) }()
		return next(ctx, r)
	}
}

// metaOf is what a call brought beside its arguments.
func metaOf(r mcp.CallToolRequest) map[string]any {
	if r.Params.Meta == nil {
		return nil
	}
	return r.Params.Meta.AdditionalFields
}

// exposed lets a call meet its faults.
func (s *Server) exposed(next mcpserver.ToolHandlerFunc) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		done, err := s.faults.strike(ctx, r.Params.Name)
		if err != nil {
			return nil, err
		}
		stop := s.heartbeat(ctx, r)
		defer stop()
		defer done()
		return next(ctx, r)
	}
}

// beat is the time between two signs of life.
const beat = time.Second

// heartbeat sends progress until it is stopped, so that a client's idle clock
// does not run out on the first review of a large package. Nothing is sent once
// stop has returned.
func (s *Server) heartbeat(ctx context.Context, r mcp.CallToolRequest) (stop func()) {
	if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; wait(ctx, beat) == nil; n++ {
			err := s.mcp.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken,
				"progress":      n,
				"message":       "still at work",
			})
			if err != nil {
				return // the client cannot be told: it will judge by its clock
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
